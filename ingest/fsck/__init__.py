"""Compares the index with git, and repairs the index."""
