"""Verifies, reads, handles and logs webhook deliveries from code hosts."""
