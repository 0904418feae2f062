"""The version of the chunker, in its own module so that reading it loads no grammars."""

CHUNKER_VERSION = "3"
"""Part of every chunk's id. Increase it with any change that cuts or describes files differently."""
