"""The versions of an index and their filters: the head document and its rules."""
