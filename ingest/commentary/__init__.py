"""Commentary: what a language model says about each chunk."""
