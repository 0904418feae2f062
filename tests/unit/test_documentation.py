"""What the documentation says of settings and commands is what there is."""

import json
import re
from pathlib import Path

from codequarry.shared.settings.config import LEAVES, SettingsModel
from codequarry.shared.telemetry.instruments import METRICS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_operators_page_lists_every_metric_with_its_labels_and_meaning() -> None:
    page = (DOCS / "operators.md").read_text()
    rows = re.findall(r"^\| `(codequarry_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", page, re.M)
    documented = [(name, kind, tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows]
    assert documented == [(one.exported, one.kind, one.labels, one.meaning) for one in METRICS]


def test_the_configuration_page_lists_every_setting_with_its_default() -> None:
    page = (DOCS / "configuration.md").read_text()
    documented = dict(re.findall(r"^\| `([^`]+)` \| (?:`([^`]*)`)? ?\| \S", page, re.M))
    defaults = SettingsModel().model_dump(mode="json")
    expected = {}
    for key in LEAVES:
        value = defaults
        for part in key.split("."):
            value = value[part]
        expected[key] = "" if value is None else json.dumps(value)
    assert documented == expected
