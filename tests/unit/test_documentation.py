"""The documentation lists every metric and setting, and all its links resolve."""

import json
import re
from pathlib import Path

from codequarry.shared.settings.config import LEAVES, SettingsModel
from codequarry.shared.telemetry.instruments import METRICS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_monitoring_page_lists_every_metric_with_its_labels_and_meaning() -> None:
    page = (DOCS / "operators" / "monitoring.md").read_text()
    rows = re.findall(r"^\| `(codequarry_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$", page, re.M)
    documented = [(name, kind, tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows]
    assert documented == [(metric.exported, metric.kind, metric.labels, metric.meaning) for metric in METRICS]


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


def test_every_link_between_pages_leads_to_a_file_and_a_heading() -> None:
    root = DOCS.parent
    pages = [*root.glob("*.md"), *DOCS.rglob("*.md"), root / "deploy" / "README.md"]
    text = {page: re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S) for page in pages}
    broken = []
    for page in pages:
        for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text[page]):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in _anchors(text[target])):
                broken.append(f"{page.relative_to(root)}: {link}")
    assert not broken


def _anchors(page: str) -> set[str]:
    """Return the anchors that code hosts make of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
