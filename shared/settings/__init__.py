"""What may be set, where from, and what it is when nobody sets it."""
