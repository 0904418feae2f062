"""Moving the index to another embedding model."""
