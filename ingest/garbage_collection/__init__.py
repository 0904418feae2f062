"""Giving up old commits, and deleting what nobody may ask for any more."""
