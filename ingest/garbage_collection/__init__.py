"""Expires old commits and deletes rows that no reader may ask for any more."""
