"""API keys and grants: who may do what, and who may see which repositories and paths."""
