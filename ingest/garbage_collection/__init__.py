"""Expires old commits and deletes rows that readers may no longer ask for."""
