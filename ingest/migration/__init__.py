"""Moves the index to another embedding model."""
