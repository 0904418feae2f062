"""The store for one machine: SQLite for everything except the vectors, which are in a memory-mapped file.

``index.sqlite3`` is authoritative: every change is one transaction. It refers to float32 slots in ``vectors-N.f32``.
Each process keeps the few numbers per row that filters and scores need in numpy arrays (``columns.py``), fed by a
change log in the same transactions. A search reads from disk only its terms' postings and the chunks that it returns.
"""
