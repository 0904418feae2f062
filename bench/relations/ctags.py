"""List the definitions that Universal Ctags finds in a work tree as JSON lines.

python -m bench.relations.ctags TREE > definitions.jsonl
"""

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Kinds that are local to a function, kinds of uses instead of definitions, and kinds that only repeat a name.
LOCAL = {"local", "parameter", "receiver", "label", "unknown", "import", "packageName"}
REPEATED = {"package", "implementation"}
ANONYMOUS = ("__anon", "anonymousFunction", "AnonymousFunction", "anonymousObject", "anonymousClass")


def definitions(tree: Path) -> Iterator[dict[str, Any]]:
    """Yield the definitions of all files, without local variables, parameters and imports.

    Raise CalledProcessError if ctags fails.
    """
    command = [
        "ctags",
        "--recurse",
        "--output-format=json",
        "--fields=+nKsSeEl",
        "--fields-all=*",
        "--sort=no",
        "-f",
        "-",
    ]
    shown = subprocess.run([*command, "."], cwd=tree, check=True, stdout=subprocess.PIPE, text=True, errors="replace")
    for line in shown.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and not is_local(tag):
            yield {
                "path": tag["path"].removeprefix("./"),
                "line": tag["line"],
                "name": tag["name"],
                "kind": tag["kind"],
                "scope": tag.get("scope", ""),
                "language": tag.get("language", ""),
            }


def is_local(tag: dict[str, Any]) -> bool:
    """Return whether a tag is no definition that can be seen from outside of its function."""
    if tag["language"] == "Python" and tag["kind"] == "namespace":  # the name of an imported module
        return True
    if tag["kind"] in LOCAL | REPEATED or tag["name"].startswith(ANONYMOUS):
        return True
    variable = tag["kind"] in ("variable", "constant", "property", "field", "member")
    # The parsers of these languages give variables in functions no scope, so that only their indentation tells.
    in_block = tag["language"] in ("TypeScript", "JavaScript") and tag["kind"] in ("variable", "constant")
    if in_block and not tag.get("scope") and tag["pattern"][2:3].isspace():
        return True
    return variable and tag.get("scopeKind") in ("function", "method", "func", "procedure", "subroutine")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    for definition in definitions(parser.parse_args().tree):
        print(json.dumps(definition, ensure_ascii=False))


if __name__ == "__main__":
    main()
