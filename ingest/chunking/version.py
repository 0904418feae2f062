"""The version of the chunker, in a module of its own so that reading it loads no grammars."""

CHUNKER_VERSION = "1"
"""Part of every chunk's id. Raise it with any change that cuts or describes files differently."""
