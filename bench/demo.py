"""The demo: two real repositories indexed and searched; everything it makes lies in ./.demo.

The first repository is this project's own. The second one is made of packages that the virtual environment has anyway,
committed to a scratch repository: a few thousand real files without any download.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".demo"
HOME = FOLDER / "home"
LIBRARIES = FOLDER / "libraries"
PROJECT_COPY = FOLDER / "project"
COMMAND = Path(sys.executable).with_name("codequarry")
# Well-known packages among our own dependencies; one that is not there (another release) is left out.
PACKAGES = (
    "anyio", "apiflask", "charset_normalizer", "flask", "git", "gitdb", "gunicorn", "h11", "jinja2", "jsonschema",
    "markdown_it", "marshmallow", "mcp", "numpy", "opensearchpy", "packaging", "pathspec", "pip", "prometheus_client",
    "pydantic", "pygments", "requests", "rich", "starlette", "structlog", "typer", "urllib3", "uvicorn", "werkzeug",
)  # fmt: skip
NOT_SOURCE = ("__pycache__", "*.so", "*.pyd", "*.dll", "*.exe", "*.a", "*.pyc")
EDITED = "flask/sansio/scaffold.py"
# Settings of the person who runs the demo must not send it elsewhere.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("CODEQUARRY_", "GIT_"))} | {
    "CODEQUARRY_HOME": str(HOME),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def main() -> None:
    """Run the demo."""
    started = time.monotonic()
    step("Index this project's own repository")
    codequarry("index", shown(own_repository()), "--name", "codequarry")
    step("Index a larger one: libraries out of .venv, committed to a scratch repository")
    commit_libraries()
    codequarry("index", shown(LIBRARIES), "--name", "libraries")
    step("Edit one of its files, commit, index again: only that file is read")
    edit_one_file()
    codequarry("index", shown(LIBRARIES), "--name", "libraries")
    step("A question in plain words, over both repositories")
    codequarry("search", "retry a request with exponential backoff", "--top-k", "3")
    step("A name: its definition comes first, before the places that use it")
    codequarry("search", "parse_options_header", "--top-k", "3")
    step("Our own code, asked about itself")
    codequarry("search", "delete the rows that nobody needs any more", "--repo", "codequarry", "--top-k", "3")
    how_to_go_on(time.monotonic() - started)


def step(title: str) -> None:
    """Say what comes next."""
    print(f"\n\033[1m# {title}\033[0m" if sys.stdout.isatty() else f"\n# {title}", flush=True)


def codequarry(*arguments: str) -> None:
    """Show a command as one would type it, and run it."""
    print("$ codequarry " + " ".join(f'"{part}"' if " " in part else part for part in arguments), flush=True)
    done = subprocess.run([COMMAND, *arguments], cwd=ROOT, env=ENVIRONMENT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def own_repository() -> Path:
    """Return this project's work tree or, where it came without git, a copy committed in the demo's folder."""
    if (ROOT / ".git").exists():
        return ROOT
    ignored = shutil.ignore_patterns(".venv", ".demo", "build", "dist", "*.egg-info", ".*_cache", *NOT_SOURCE)
    shutil.copytree(ROOT, PROJECT_COPY, ignore=ignored, dirs_exist_ok=True)
    commit_all(PROJECT_COPY, "codequarry")
    return PROJECT_COPY


def commit_libraries() -> None:
    """Commit the packages' files, which takes a few seconds the first time."""
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    site = Path(sysconfig.get_path("purelib"))
    for package in PACKAGES:
        if (site / package).is_dir():
            ignored = shutil.ignore_patterns(*NOT_SOURCE)
            shutil.copytree(site / package, LIBRARIES / package, ignore=ignored, dirs_exist_ok=True)
    commit_all(LIBRARIES, "libraries")


def edit_one_file() -> None:
    """Commit a change to one file."""
    with (LIBRARIES / EDITED).open("a") as file:
        file.write("\n\ndef demo_was_here() -> str:\n    return 'a function that was not here before'\n")
    commit_all(LIBRARIES, "an edit")


def commit_all(folder: Path, message: str) -> None:
    """Commit everything below ``folder``, whatever git is configured to on this machine."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all", "--force")
    if git(folder, "status", "--porcelain"):
        git(
            folder, "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--message", message
        )


def git(folder: Path, *arguments: str) -> bytes:
    """Run git in a folder and return what it says."""
    return subprocess.run(["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE).stdout


def how_to_go_on(seconds: float) -> None:
    """Say what can be done next, and what was left behind."""
    used = sum(path.lstat().st_blocks * 512 for path in FOLDER.rglob("*")) / 1_000_000
    command = shown(COMMAND)
    step(f"Done in {seconds:.0f} s. Go on with the demo's index")
    print(f"export CODEQUARRY_HOME=$PWD/{shown(HOME)}")
    print(f'{command} search "read a file in chunks"')
    print(f"{command} serve --trust-loopback   # the HTTP API on http://127.0.0.1:8080")
    print(f"{command} mcp          # the tools for a coding agent, see README.md")
    step("or with your own, in ~/.codequarry")
    print(f"unset CODEQUARRY_HOME; {command} index PATH_OR_URL")
    print(f"\nLeft behind: {shown(FOLDER)} ({used:.0f} MB), .venv and codequarry.egg-info.")
    print(f"To remove the demo's data: rm -r {shown(FOLDER)}; to remove all of it: make clean")


def shown(path: Path) -> str:
    """Return a path as one would type it in the project's folder."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    # `make bench` measures on the same libraries.
    commit_libraries() if sys.argv[1:] == ["--libraries-only"] else main()
