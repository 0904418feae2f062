"""The version of the chunker, apart from the chunker: what only names it need not load every grammar."""

CHUNKER_VERSION = "1"
"""Part of every chunk's id: raise it with any change that cuts or describes a file otherwise."""
