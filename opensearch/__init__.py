"""The OpenSearch side: the index bodies as JSON, and a node that runs them without Docker."""
