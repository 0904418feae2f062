"""Make ingest/secrets/gitleaks.toml from gitleaks' own file: ``python -m bench.gitleaks_rules gitleaks.toml``.

Left out are rules that our own cover in more notations (ingest/secrets/assignments.py and private_keys.py), rules that
match only a path, and rules that find public values (a public key, a client's id) or far too much.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "ingest/secrets/gitleaks.toml"
HEADER = """\
# Rules of gitleaks (https://github.com/gitleaks/gitleaks), trimmed by bench/gitleaks_rules.py.
# Copyright (c) 2019 Zachary Rice; MIT License, whole in gitleaks-LICENSE beside this file.
"""
LEFT_OUT = frozenset({
    "curl-auth-header", "curl-auth-user", "generic-api-key", "hashicorp-tf-password", "jwt-base64",
    "kubernetes-secret-yaml", "nuget-config-password", "pkcs12-file", "private-key",
    "adobe-client-id", "asana-client-id", "bitbucket-client-id", "discord-client-id", "flutterwave-public-key",
    "linkedin-client-id", "lob-pub-api-key", "looker-client-id", "mailgun-pub-key", "messagebird-client-id",
    "new-relic-user-api-id", "plaid-client-id", "sumologic-access-id",
})  # fmt: skip
# Prefixes that let a match start anywhere in a line. Without them a rule matches the same and is much faster.
WORDY_STARTS = (r"[\w.-]{0,50}?(?i:[\w.-]{0,50}?", r"(?i)[\w.-]{0,50}?")
# A token ends where its characters end, not only at quotes and white space, because XML, lists and sentences hold
# tokens.
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
OUR_END = r"(?:[^0-9A-Za-z_+/=-]|$)"


def trimmed(rule: dict[str, Any]) -> str:
    """Return a rule as TOML."""
    regex = rule["regex"].replace(END, OUR_END)
    for start in WORDY_STARTS:
        if regex.startswith(start):
            regex = ("(?i)" if start.startswith("(?i)") else "(?i:") + regex.removeprefix(start)
    lines = ["[[rules]]", f"id = {json.dumps(rule['id'])}", f"regex = '''{regex}'''"]
    lines += [f"entropy = {rule['entropy']}"] if rule.get("entropy") else []
    lines += [f"group = {rule['secretGroup']}"] if rule.get("secretGroup") else []
    return "\n".join([*lines, f"keywords = {json.dumps(rule['keywords'])}", ""])


def main() -> None:
    """Read the given file and write ours."""
    rules = tomllib.loads(Path(sys.argv[1]).read_text())["rules"]
    kept = [rule for rule in rules if rule["id"] not in LEFT_OUT]
    TARGET.write_text("\n".join([HEADER, *map(trimmed, kept)]))
    print(f"{len(kept)} of {len(rules)} rules written to {TARGET}")


if __name__ == "__main__":
    main()
