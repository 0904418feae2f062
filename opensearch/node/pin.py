"""Rewrite ``artifacts.json`` after the versions here have changed: ``python -m codequarry.opensearch.node.pin``."""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

OPENSEARCH = "3.6.0"
LOG4J = "2.25.3"

ROOTS = {
    "lib": (
        f"org.opensearch:opensearch:{OPENSEARCH}",
        f"org.opensearch:opensearch-plugin-classloader:{OPENSEARCH}",
        f"org.opensearch:opensearch-cli:{OPENSEARCH}",
        f"org.opensearch:opensearch-agent-bootstrap:{OPENSEARCH}",
        f"org.apache.logging.log4j:log4j-core:{LOG4J}",
    ),
    "modules/lang-painless": (f"org.opensearch.plugin:lang-painless:{OPENSEARCH}",),
    "modules/transport-netty4": (f"org.opensearch.plugin:transport-netty4-client:{OPENSEARCH}",),
    "modules/reindex": (f"org.opensearch.plugin:reindex-client:{OPENSEARCH}",),
    # gRPC is not used, but the k-NN plugin extends this module and does not load without it.
    "modules/transport-grpc": (f"org.opensearch.plugin:transport-grpc:{OPENSEARCH}",),
}
MODULES = {
    "lang-painless": "org.opensearch.painless.PainlessModulePlugin",
    "transport-netty4": "org.opensearch.transport.Netty4ModulePlugin",
    "reindex": "org.opensearch.index.reindex.ReindexModulePlugin",
    "transport-grpc": "org.opensearch.transport.grpc.GrpcPlugin",
}
KNN = f"org.opensearch.plugin:opensearch-knn:zip:{OPENSEARCH}.0"


def main() -> None:
    """Resolve the roots, download every artifact, and write its checksum."""
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory() as cache:
        context = MavenContext(repo_cache=Path(cache), timeout=60)
        folders: dict[str, dict[str, str]] = {}
        for folder, roots in ROOTS.items():
            # The server's jars are on every module's class path, and a second copy is refused as "jar hell".
            on_class_path = {coordinate.split(":")[1] for coordinate in folders.get("lib", {})}
            folders[folder] = _resolve(context, roots, on_class_path)
        group, name, packaging, version = KNN.split(":")
        zipped = context.project(group, name).at_version(version).artifact(packaging=packaging).resolve()
        folders["plugins/opensearch-knn"] = {KNN: _sha256(zipped)}
    body = {"opensearch": OPENSEARCH, "modules": MODULES, "folders": folders}
    target = Path(__file__).with_name("artifacts.json")
    target.write_text(json.dumps(body, indent=2) + "\n", "utf-8")
    sys.stderr.write(f"{target}: {sum(map(len, folders.values()))} artifacts\n")


def _resolve(context: Any, roots: tuple[str, ...], known: set[str]) -> dict[str, str]:  # noqa: ANN401
    found: dict[str, str] = {}
    for root in roots:
        inputs, transitive = context.resolver.resolve([context.create_dependency(root)])
        for dependency in [*inputs, *transitive]:
            # Jars with a classifier are netty's native QUIC libraries for HTTP/3, which is not used.
            if dependency.artifactId in known or dependency.classifier:
                continue
            known.add(dependency.artifactId)
            coordinate = f"{dependency.groupId}:{dependency.artifactId}:{dependency.version}"
            found[coordinate] = _sha256(dependency.artifact.resolve())
    return dict(sorted(found.items()))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
