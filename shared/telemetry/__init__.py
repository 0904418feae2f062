"""What operators see: metrics, traces and logs."""
