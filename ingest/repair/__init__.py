"""Making a damaged index whole again: what can be read is kept, the rest is made again from git."""
