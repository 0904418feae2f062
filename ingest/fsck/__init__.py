"""The index compared with git, and mended."""
