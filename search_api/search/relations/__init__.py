"""Definitions of symbols and the edges between them, read from the chunks of a snapshot and resolved on request."""
