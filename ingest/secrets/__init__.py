"""Finding secrets in text and masking them, before anything is chunked, embedded, stored or logged."""
