"""One big import by several processes: its batches lie in the catalog, and whoever is free takes one."""
