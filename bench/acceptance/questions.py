"""The plain-English questions of bench/questions, and a check that the files still contain the evidence."""

import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.acceptance.repositories import Clone

QUESTIONS = Path(__file__).resolve().parents[1] / "questions"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the files that answer it, any of which will do; ``evidence`` has a string of each file."""

    text: str
    paths: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """The questions about one public repository at one commit; ranking is tuned only if ``split`` is development."""

    repo: str
    commit: str
    split: str
    questions: tuple[Question, ...]


def load(folder: Path = QUESTIONS, only: Iterable[str] = ()) -> list[Questionnaire]:
    """Read the questionnaires in the order of their file names; ``only`` selects repositories by name."""
    wanted = {name.lower() for name in only}
    loaded = [_read(path) for path in sorted(folder.glob("*.toml"))]
    return [item for item in loaded if not wanted or wanted & {item.repo.lower(), item.repo.lower().rpartition("/")[2]}]


def check_evidence(questionnaire: Questionnaire, clone: Clone) -> None:
    """Raise SystemExit if a path does not exist at the commit or no longer contains its string."""
    for question in questionnaire.questions:
        for path, string in zip(question.paths, question.evidence, strict=True):
            shown = subprocess.run(
                ["git", "--git-dir", str(clone.git_dir), "show", f"{questionnaire.commit}:{path}"],
                capture_output=True,
                check=False,
            )
            if shown.returncode or string not in shown.stdout.decode(errors="replace"):
                raise SystemExit(f"{questionnaire.repo}: {path} does not contain {string!r} at {questionnaire.commit}")


def _read(path: Path) -> Questionnaire:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = tuple(
        Question(entry["text"], tuple(entry["paths"]), tuple(entry.get("evidence", ()))) for entry in table["question"]
    )
    return Questionnaire(table["repo"], table["commit"], table["split"], questions)
