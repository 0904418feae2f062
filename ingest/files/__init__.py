"""From a path of a commit to a file's verdict and chunks."""
