"""The `codequarry` command: its subcommands and exit codes. Each command imports what it needs when it runs."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from codequarry.cli.commands import (
    backup,
    beat,
    config,
    deliveries,
    diff_search,
    doctor,
    embed_check,
    files,
    fsck,
    index,
    jobs,
    keys,
    log,
    mcp,
    migrate,
    models,
    neighbours,
    opensearch,
    repos,
    search,
    serve,
    status,
    symbols,
    sync,
    where,
    worker,
)
from codequarry.cli.session.session import examples
from codequarry.cli.terminal import failures
from codequarry.shared.data_folder import UMASK
from codequarry.shared.processors import use_one_blas_thread

EPILOG = "codequarry config shows the settings. Errors are one line on stderr. Exit code 1: failed; 2: usage error."

app = typer.Typer(
    name="codequarry",
    help="Index git repositories and search their code.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(name: str, command: Callable[..., None], *lines: str) -> None:
    app.command(name, epilog=examples(*lines))(command)


_add(
    "index",
    index.index,
    "index .",
    "index https://github.com/pallets/flask --branch stable",
    "index . --pull 12",
    "index --workspace .",
    "index ~/src/linux --dry-run",
)
_add(
    "search",
    search.search,
    'search "where is the retry delay computed"',
    "search parse_request --repo codequarry --language python",
    'search "lang:go symbol:ReadAll" --top-k 3 --json',
    'search "retry delay" --repo codequarry --branch dev',
)
_add(
    "diff-search",
    diff_search.diff_search,
    'diff-search "retry policy" v1.0..v2.0 --repo codequarry',
    "diff-search parse_request main...dev",
    "diff-search parse_request --pull 12 --json",
)
_add(
    "where",
    where.where,
    "where parse_request --repo codequarry",
    "where Store.load --branch 'release/*'",
    "where retry_delay --path src/ --json",
)
_add(
    "log",
    log.log,
    "log parse_request --repo codequarry",
    "log Store.load --path 'src/*' --branch dev",
    "log retry_delay --no-git --limit 5 --json",
)
_add(
    "symbols",
    symbols.symbols,
    "symbols parse_request --repo codequarry",
    "symbols Store.load --language python --json",
)
_add("refs", neighbours.refs, "refs parse_request", "refs Store --kind inherits --kind type --json")
_add("callers", neighbours.callers, "callers parse_request", "callers Store.load --depth 3 --branch dev")
_add("callees", neighbours.callees, "callees parse_request --repo codequarry")
_add("parents", neighbours.parents, "parents SearchBody --depth 3")
_add("children", neighbours.children, "children RequestBody --json")
_add(
    "embed-check",
    embed_check.embed_check,
    'embed-check "where is the retry delay computed" src/retry.py',
    "embed-check @old.py @new.py --pairs 20 --json",
    'embed-check "retry delay" - < src/retry.py',
    'embed-check "retry delay" --nearest --top-k 5 --repo codequarry',
)
_add("serve", serve.serve, "serve --port 9000")
_add("worker", worker.worker, "worker", "worker --concurrency 4", "worker --queues control,scan")
_add("beat", beat.beat, "beat")
_add("mcp", mcp.mcp, "mcp")
_add("files", files.files, "files codequarry", "files codequarry --tag v1.0 --json")
_add(
    "chunks",
    files.chunks,
    "chunks codequarry shared/catalog/ledger.py",
    "chunks codequarry shared/catalog/ledger.py --branch dev",
)
_add(
    "fsck",
    fsck.fsck,
    "fsck",
    "fsck codequarry",
    "fsck codequarry --branch dev --repair",
    "fsck codequarry --commit 1f2e3d4",
)
_add("backup", backup.backup, "backup /backups/monday")
_add("verify", backup.verify, "verify /backups/monday")
_add("restore", backup.restore, "restore /backups/monday", "restore /backups/monday --replace")
_add("migrate", migrate.migrate, "migrate --model minilm", "migrate --model minilm --dry-run", "migrate --schema")
app.add_typer(repos.app, name="repos")
app.add_typer(jobs.app, name="jobs")
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")
app.add_typer(opensearch.app, name="opensearch")
_add("sync", sync.sync, "sync --dry-run", "sync --prune", "sync --detach --json")
_add("deliveries", deliveries.deliveries, "deliveries", "deliveries --limit 10 --json")
_add("status", status.status, "status --json")
_add("doctor", doctor.doctor, "doctor", "doctor --json")
_add("config", config.config, "config --json", "--set embedding.model=minilm config")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"codequarry {version('codequarry')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a setting for this run, for example api.port=9000."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    context.obj = tuple(assignments or ())


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    use_one_blas_thread()
    for stream in (sys.stdout, sys.stderr):
        # A file name need not be valid UTF-8: escape it instead of failing.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # TextIO in the stubs
    try:
        code = app(list(arguments), prog_name="codequarry", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return failures.report(error)
    return code if isinstance(code, int) else 0


def main() -> None:
    """Run as the console script; files that it and its child processes create are private to the user."""
    os.umask(UMASK)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
