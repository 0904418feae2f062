"""Metrics, traces and logs for operators."""
