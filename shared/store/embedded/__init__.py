"""The store for one machine: SQLite for everything except the vectors, which are in a memory-mapped file.

``index.sqlite3`` holds the truth: every change is one transaction. It refers to float32 slots in ``vectors-N.f32``.
Each process keeps the few numbers of every row that filters and scores need as numpy arrays (``columns.py``), fed by a
change log in the same transactions. A search reads from disk only its terms' postings and the chunks it returns.
"""
