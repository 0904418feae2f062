"""What code hosts tell the service: checked, read, decided on, kept in a log."""
