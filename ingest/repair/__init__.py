"""Rebuilds a damaged index: keeps what can be read, and restores the rest from git."""
