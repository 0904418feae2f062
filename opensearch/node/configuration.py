"""The configuration of a node: its settings files, JVM options and folders."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codequarry.opensearch.node.java import VECTOR_MODULE, Java

# A laptop's disk is often 90% full, and then OpenSearch's default limits, which are percentages, block all writes.
SETTINGS = """\
cluster.name: codequarry
node.name: {name}
discovery.type: single-node
network.host: 127.0.0.1
http.port: {port}
path.data: {data}
path.logs: {logs}
action.auto_create_index: false
cluster.routing.allocation.disk.watermark.low: 1gb
cluster.routing.allocation.disk.watermark.high: 700mb
cluster.routing.allocation.disk.watermark.flood_stage: 300mb
"""

LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {logs}/codequarry.log
appender.file.filePattern = {logs}/codequarry-%i.log.gz
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d{{ISO8601}}][%-5p][%-25c{{1.}}] %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""

# The options from the server's jvm.options that matter on one machine.
JVM_OPTIONS = (
    "-XX:+UseG1GC",
    "-XX:G1ReservePercent=25",
    "-XX:InitiatingHeapOccupancyPercent=30",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-Xss1m",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-Djna.nosys=true",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Dio.netty.allocator.numDirectArenas=0",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
    "--enable-native-access=ALL-UNNAMED",
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folders that a running node writes to."""

    root: Path

    @property
    def config(self) -> Path:
        """The settings, and the keystore that the server creates beside them."""
        return self.root / "config"

    @property
    def data(self) -> Path:
        """The indices."""
        return self.root / "data"

    @property
    def logs(self) -> Path:
        """The server's log files."""
        return self.root / "logs"

    @property
    def temporary(self) -> Path:
        """The folder where the JVM unpacks its native libraries."""
        return self.root / "tmp"

    @property
    def log(self) -> Path:
        """The server's log, which is named after the cluster."""
        return self.logs / "codequarry.log"

    @property
    def console(self) -> Path:
        """The JVM's output, which has the reason if the server fails early in its startup."""
        return self.root / "console.log"

    @property
    def written_by_the_server(self) -> tuple[Path, ...]:
        """The folders that the server's account owns; it cannot change their parent folder."""
        return self.config, self.data, self.logs, self.temporary


def write_configuration(run: RunFolder, name: str, port: int) -> None:
    """Create the folders and write the settings for the next start."""
    # An earlier server may have left links to other files, and writing must not follow those links.
    shutil.rmtree(run.config, ignore_errors=True)
    for folder in run.written_by_the_server:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    # A JSON string is also a YAML string, whatever characters the path has.
    settings = SETTINGS.format(name=name, port=port, data=json.dumps(str(run.data)), logs=json.dumps(str(run.logs)))
    (run.config / "opensearch.yml").write_text(settings, "utf-8")
    (run.config / "log4j2.properties").write_text(LOGGING.format(logs=run.logs), "utf-8")


def command(java: Java, home: Path, run: RunFolder, heap: str, options: Sequence[str] = ()) -> Sequence[str]:
    """Return the command line that starts the server."""
    return (
        str(java.program),
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *JVM_OPTIONS,
        *options,
        *((f"--add-modules={VECTOR_MODULE}",) if java.has_vector else ()),
        f"-Djava.io.tmpdir={run.temporary}",
        f"-Djna.tmpdir={run.temporary}",
        f"-XX:ErrorFile={run.logs}/jvm-error.log",
        f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={run.config}",
        "-cp",
        f"{home}/lib/*",
        "org.opensearch.bootstrap.OpenSearch",
    )
