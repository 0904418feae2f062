"""One transaction: what it lies on, its lease, what it writes and retires, how it is published or undone."""
