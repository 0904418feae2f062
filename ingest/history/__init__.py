"""Commits as documents: their messages, and the lines that they changed."""
