"""List what the secret detector finds in repositories: ``python -m bench.false_alarms FOLDER...`` (git folders).

Prints each finding with its place, so that a person can judge which are false alarms, and how many chunks contain
secrets. The values are printed, so run it on public repositories only.
"""

import argparse
from collections import Counter
from pathlib import Path

from codequarry.ingest.files.content import DecodedText, decode
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reader import judge
from codequarry.ingest.files.scan import PathRules
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.trees import list_tree
from codequarry.ingest.secrets.masked_text import PRIVATE_KEY
from codequarry.ingest.secrets.masking import mask
from codequarry.shared.settings.config import SettingsModel

CONTEXT = 50


def findings(folder: Path, *, quiet: bool) -> tuple[int, int, Counter[str]]:
    """Print the findings of a repository; return the numbers of chunks, of masked chunks, and of findings by rule."""
    mirror = Mirror(folder, {})
    settings = SettingsModel()
    rules = PathRules(settings)
    reading = ReadingRules.of(folder.name, settings, rules.secrets)
    chunks = masked = 0
    by_rule: Counter[str] = Counter()
    with BlobReader(mirror) as blobs:
        for entry in list_tree(mirror.folder, mirror.environment, mirror.commit_of("HEAD") or "HEAD"):
            task = rules.decide(entry)
            if task.skip:
                continue
            data = blobs.read(task.blob)
            file = judge(task, data, reading)
            chunks += len(file.pieces)
            if not any(piece.chunk.masked for piece in file.pieces):
                continue
            masked += sum(piece.chunk.masked for piece in file.pieces)
            decoded = decode(data)
            assert isinstance(decoded, DecodedText)
            found = mask(decoded.text, task.path)
            by_rule.update(found.counts.by_rule)
            keys = [secret for secret in found.secrets if secret.rule == PRIVATE_KEY]
            for secret in (
                () if quiet else [*(other for other in found.secrets if other.rule != PRIVATE_KEY), *keys[:1]]
            ):
                line = decoded.text.count("\n", 0, secret.start) + 1
                before = decoded.text[max(0, secret.start - CONTEXT) : secret.start].rpartition("\n")[2]
                print(
                    f"  {secret.rule:24} {task.path}:{line}: {before}[{decoded.text[secret.start : secret.end][:80]}]"
                )
    return chunks, masked, by_rule


def main() -> None:
    """Examine the given folders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--quiet", action="store_true", help="print only the numbers")
    given = parser.parse_args()
    all_chunks = all_masked = 0
    for folder in given.folders:
        print(folder)
        chunks, masked, by_rule = findings(folder, quiet=given.quiet)
        print(f"  {masked} of {chunks:,} chunks; {dict(by_rule.most_common())}")
        all_chunks, all_masked = all_chunks + chunks, all_masked + masked
    rate = f"one in {all_chunks // all_masked:,}" if all_masked else "none"
    print(f"all: {all_masked} of {all_chunks:,} chunks, {rate}")


if __name__ == "__main__":
    main()
