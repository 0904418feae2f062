"""Compares the index with git and repairs it."""
