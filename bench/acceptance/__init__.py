"""The checks that the project is accepted by, each a script: `python -m bench.acceptance.quality --help`, and so on."""
