"""One transaction: its base, its lease, what it writes and retires, and how it is published or undone."""
