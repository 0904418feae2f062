"""The demo: index and search two real repositories, with all data in ./.demo.

The first repository is this project's own. The second is made of packages from the virtual environment, committed to a
scratch repository: a few thousand real files without any download.
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
# Well-known packages among our dependencies; those that are not installed are left out.
PACKAGES = (
    "anyio", "apiflask", "charset_normalizer", "flask", "git", "gitdb", "gunicorn", "h11", "jinja2", "jsonschema",
    "markdown_it", "marshmallow", "mcp", "numpy", "opensearchpy", "packaging", "pathspec", "pip", "prometheus_client",
    "pydantic", "pygments", "requests", "rich", "starlette", "structlog", "typer", "urllib3", "uvicorn", "werkzeug",
)  # fmt: skip
NOT_SOURCE = ("__pycache__", "*.so", "*.pyd", "*.dll", "*.exe", "*.a", "*.pyc")
EDITED = "flask/sansio/scaffold.py"
# The user's own settings must not redirect the demo.
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
    step("Index a larger repository: libraries from .venv, committed to a scratch repository")
    commit_libraries()
    codequarry("index", shown(LIBRARIES), "--name", "libraries")
    step("Edit one of its files, commit, index again: only that file is read")
    edit_one_file()
    codequarry("index", shown(LIBRARIES), "--name", "libraries")
    step("A question in plain words, over both repositories")
    codequarry("search", "retry a request with exponential backoff", "--top-k", "3")
    step("A name: its definition comes before its uses")
    codequarry("search", "parse_options_header", "--top-k", "3")
    step("A question about Codequarry's own code")
    codequarry("search", "delete the rows that nobody needs any more", "--repo", "codequarry", "--top-k", "3")
    how_to_go_on(time.monotonic() - started)


def step(title: str) -> None:
    """Print the title of the next step."""
    print(f"\n\033[1m# {title}\033[0m" if sys.stdout.isatty() else f"\n# {title}", flush=True)


def codequarry(*arguments: str) -> None:
    """Print a command as a user would type it, and run it."""
    print("$ codequarry " + " ".join(f'"{part}"' if " " in part else part for part in arguments), flush=True)
    done = subprocess.run([COMMAND, *arguments], cwd=ROOT, env=ENVIRONMENT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def own_repository() -> Path:
    """Return this project's work tree or, if it has no git history, a copy committed in the demo's folder."""
    if (ROOT / ".git").exists():
        return ROOT
    ignored = shutil.ignore_patterns(".venv", ".demo", "build", "dist", "*.egg-info", ".*_cache", *NOT_SOURCE)
    shutil.copytree(ROOT, PROJECT_COPY, ignore=ignored, dirs_exist_ok=True)
    commit_all(PROJECT_COPY, "codequarry")
    return PROJECT_COPY


def commit_libraries() -> None:
    """Commit the packages' files; the first time takes a few seconds."""
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
    """Commit everything below ``folder``, whatever the git configuration of this machine."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all", "--force")
    if git(folder, "status", "--porcelain"):
        git(
            folder, "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--message", message
        )


def git(folder: Path, *arguments: str) -> bytes:
    """Run git in a folder and return its output."""
    return subprocess.run(["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE).stdout


def how_to_go_on(seconds: float) -> None:
    """Print what to try next and what the demo leaves behind."""
    used = sum(path.lstat().st_blocks * 512 for path in FOLDER.rglob("*")) / 1_000_000
    command = shown(COMMAND)
    step(f"Done in {seconds:.0f} s. Continue with the demo's index")
    print(f"export CODEQUARRY_HOME=$PWD/{shown(HOME)}")
    print(f'{command} search "read a file in chunks"')
    print(f"{command} serve --trust-loopback   # the HTTP API on http://127.0.0.1:8080")
    print(f"{command} mcp          # the tools for a coding agent, see README.md")
    step("Or use your own index, in ~/.codequarry")
    print(f"unset CODEQUARRY_HOME; {command} index PATH_OR_URL")
    print(f"\nLeft behind: {shown(FOLDER)} ({used:.0f} MB), .venv and codequarry.egg-info.")
    print(f"To remove the demo's data: rm -r {shown(FOLDER)}; to remove everything: make clean")


def shown(path: Path) -> str:
    """Return a path as a user would type it in the project's folder."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    # `make bench` measures on the same libraries.
    commit_libraries() if sys.argv[1:] == ["--libraries-only"] else main()
