"""Trains the built-in model: sources, pairs, training, figures. For developers; not in the wheel."""
