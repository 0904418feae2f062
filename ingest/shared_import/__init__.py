"""One large import by several processes: its batches are in the catalog, and free processes claim them."""
