"""Access to repositories: where they are, how they are fetched, what their commits contain."""
