"""One large import by several processes: its batches lie in the catalog, and free processes claim them."""
