"""Who may do what, and see which repositories and paths."""
