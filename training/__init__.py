"""How the built-in model is made: sources, pairs, training, figures. For developers; not in the wheel."""
