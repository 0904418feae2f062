"""How requests come in and answers go out, without a thread that waits for a client: see decision 0030."""
