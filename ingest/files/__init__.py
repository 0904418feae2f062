"""Lists, reads and judges files, turning each path of a commit into a verdict and chunks."""
