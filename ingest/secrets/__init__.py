"""Finds secrets in text and masks them before anything is chunked, embedded, stored or logged."""
