"""The acceptance checks, each a script; see for example `python -m bench.acceptance.quality --help`."""
