"""Rebuilds a damaged index: what can be read is kept, the rest is made again from git."""
