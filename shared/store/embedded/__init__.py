"""The store for one machine: SQLite for everything but the vectors, which lie in one memory-mapped file.

``index.sqlite3`` holds the truth; every change is one transaction in it. ``vectors-N.f32`` holds float32 slots that
the database points to. Each process keeps the few numbers that filters and scores need of every row as numpy arrays
(``columns.py``), fed by a change log that is written in the same transactions; so a search reads from disk only the
postings of its terms and the chunks it returns.
"""
