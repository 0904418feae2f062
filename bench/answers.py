"""Measure how long it takes to validate and write an answer: the JSON that HTTP, MCP and ``--json`` share.

Reads a stored answer, converts it to its dataclasses, and measures validation, ``to_json`` and the JSON text, each the
best of several rounds.

    codequarry search "retry delay" --json > answer.json
    python -m bench.answers answer.json
"""

import argparse
import json
import timeit
from collections.abc import Callable
from pathlib import Path

from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.json import adapter, to_json

CALLS = 200
ROUNDS = 7


def microseconds(call: Callable[[], object]) -> float:
    """Return the time of a call in the fastest round, which other work disturbed least."""
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answer", type=Path, help="a file with an answer of POST /search-code or search --json")
    body = json.loads(parser.parse_args().answer.read_text())
    answers = adapter(SearchAnswer)
    answer = answers.validate_python(body)
    written = to_json(answer)
    text = json.dumps(written)
    fields = len(written["results"][0]) if written["results"] else 0
    print(f"{len(written['results'])} hits of {fields} fields, {len(text):,} characters")
    print(f"validate   {microseconds(lambda: answers.validate_python(body)):7.0f} µs")
    print(f"to_json    {microseconds(lambda: to_json(answer)):7.0f} µs")
    print(f"json.dumps {microseconds(lambda: json.dumps(written)):7.0f} µs")


if __name__ == "__main__":
    main()
