"""What the documentation says of settings and commands is what there is."""

import json
import re
from pathlib import Path

from codequarry.shared.config import LEAVES, SettingsModel

DOCS = Path(__file__).parents[2] / "docs"


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
