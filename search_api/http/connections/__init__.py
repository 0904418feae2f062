"""Reads requests and sends answers without a thread that waits for a client (decision 0030)."""
