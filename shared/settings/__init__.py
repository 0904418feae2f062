"""The settings, their sources and their defaults."""
