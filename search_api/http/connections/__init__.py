"""Reads requests and sends answers without making a thread wait for a client (decision 0030)."""
