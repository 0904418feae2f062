"""What the catalog knows of a repository: its name, where it is, and whether that place is allowed."""
