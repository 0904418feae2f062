"""Webhook deliveries of code hosts: verified, read, handled and logged."""
