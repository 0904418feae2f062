"""OpenSearch: the index bodies as JSON, and a node that runs without Docker."""
