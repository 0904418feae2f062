"""Lists, reads and judges files: from a path of a commit to a verdict and chunks."""
