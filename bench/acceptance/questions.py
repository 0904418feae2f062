"""The plain-English questions of bench/questions, and whether their answers still stand in the files."""

import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.acceptance.repositories import Clone

QUESTIONS = Path(__file__).resolve().parents[1] / "questions"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the files any of which answers it; ``evidence`` has a string of each, in bench/questions."""

    text: str
    paths: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """The questions about one public repository at one commit; tuned on only where ``split`` is development."""

    repo: str
    commit: str
    split: str
    questions: tuple[Question, ...]


def load(folder: Path = QUESTIONS, only: Iterable[str] = ()) -> list[Questionnaire]:
    """Read the questionnaires, by repository; ``only`` names some of them."""
    wanted = {name.lower() for name in only}
    loaded = [_read(path) for path in sorted(folder.glob("*.toml"))]
    return [one for one in loaded if not wanted or wanted & {one.repo.lower(), one.repo.lower().rpartition("/")[2]}]


def check_evidence(questionnaire: Questionnaire, clone: Clone) -> None:
    """End the script where a path does not exist at the commit or no longer has its string."""
    for question in questionnaire.questions:
        for path, string in zip(question.paths, question.evidence, strict=True):
            shown = subprocess.run(
                ["git", "--git-dir", str(clone.git_dir), "show", f"{questionnaire.commit}:{path}"],
                capture_output=True,
                check=False,
            )
            if shown.returncode or string not in shown.stdout.decode(errors="replace"):
                raise SystemExit(f"{questionnaire.repo}: {path} has no {string!r} at {questionnaire.commit}")


def _read(path: Path) -> Questionnaire:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = tuple(
        Question(one["text"], tuple(one["paths"]), tuple(one.get("evidence", ()))) for one in table["question"]
    )
    return Questionnaire(table["repo"], table["commit"], table["split"], questions)
