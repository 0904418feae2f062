"""Make the built-in model: fetch packages, cut pairs, choose tokens, train, measure.

A stage that has its result is skipped, so a stopped run resumes. --again STAGE repeats a stage and all later stages.

    python -m training.make --work FOLDER
    python -m training.make --work FOLDER --seeds 1 2 3 --cosqa FOLDER
    python -m training.make --work FOLDER --again train
"""

import argparse
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np

from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary
from training import figures
from training.archives import BROKEN
from training.clients import Fetched, NotFetched, fetch, fetch_together
from training.dataset import Dataset, encode, held_out
from training.extract import KeptApart, extract_all, read_pairs
from training.fingerprint import FILES, FUNCTIONS
from training.learn import PAIRS, TEACHER, VOCABULARY, Learning, learn, made_of
from training.metadata import licence_of
from training.packages import Package, read_packages
from training.recipe import Recipe
from training.reporting import say
from training.teacher import ask_teacher
from training.words import choose_tokens, count_words, sum_words
from training.writing import remove_unfinished, whole

STAGES = ("packages", "pairs", "tokens", "teacher", "train", "measure")
# Number of packages that are measured on and never learned from.
HELD_OUT = 40
# Clients that run at once, and packages per call.
AT_ONCE, TOGETHER = 6, 20
# If a larger share of the packages is missing, the model would differ.
_MOST_MISSING = 0.02
_LEARNED, _MADE_OF = ("part-*", "model-*"), "learned-from"


def bring(packages: Sequence[Package], folder: Path) -> Iterator[Fetched]:
    """Yield each package whose licence is still as pinned, until closed; raise SystemExit if too many are missing."""
    missing: list[str] = []
    batches = [packages[at : at + TOGETHER] for at in range(0, len(packages), TOGETHER)]
    is_over = Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for number, batch in enumerate(pool.map(partial(_bring_batch, folder, is_over), batches), 1):
                missing += [outcome for outcome in batch if isinstance(outcome, str)]
                yield from (outcome for outcome in batch if isinstance(outcome, Fetched))
                if number % 5 == 0 or number == len(batches):
                    say(f"packages: {min(number * TOGETHER, len(packages)):,} of {len(packages):,}")
        finally:
            is_over.set()
    for reason in missing:
        say(f"left out: {reason}")
    if len(missing) > _MOST_MISSING * len(packages):
        raise SystemExit(f"{len(missing)} of {len(packages)} packages are missing; run it again to retry")


def _bring_batch(folder: Path, is_over: Event, packages: Sequence[Package]) -> list[Fetched | str]:
    if not is_over.is_set():
        fetch_together(packages, folder)
    return [_bring(package, folder) for package in packages if not is_over.is_set()]


def _bring(package: Package, folder: Path) -> Fetched | str:
    try:
        fetched = fetch(package, folder)
        licence = licence_of(fetched)
    except NotFetched as error:
        return str(error)
    except BROKEN as error:
        return f"{package.key} can't be read: {error}; delete it from {folder} to fetch it again"
    if licence != package.licence:
        return f"{package.key}: its licence was pinned as {package.licence} and is {licence} now"
    return fetched


def make_pairs(work: Path, packages: Sequence[Package]) -> None:
    """Fetch the packages, and cut each into pairs as soon as it is there."""
    total, number, began = 0, 0, time.monotonic()
    for folder in (work / "packages", work / "pairs"):
        remove_unfinished(folder)
    with closing(bring(packages, work / "packages")) as fetched:
        for _, count in extract_all(fetched, work / "pairs", KeptApart(FILES, FUNCTIONS)):
            total, number = total + count, number + 1
            if number % 100 == 0:
                say(f"pairs: of {number:,} of {len(packages):,} packages {total:,}")
    say(f"pairs: {total:,} of {number:,} packages cut in {time.monotonic() - began:.0f} s")


def make_tokens(work: Path, keys: Sequence[str]) -> None:
    """Choose the tokens, and write the pairs as token ids."""
    say("tokens: counting words")
    with ProcessPoolExecutor() as pool:
        often, spread = sum_words(pool.map(partial(_count, work / "pairs"), keys, chunksize=8))
        vocabulary = Vocabulary(choose_tokens(often, spread))
        say(f"tokens: {len(vocabulary.tokens):,} chosen, writing the pairs as token ids")
        data = Dataset.join(list(pool.map(partial(_encode, work / "pairs", vocabulary), keys, chunksize=8)))
    data.write(work / PAIRS)
    vocabulary.write(work / VOCABULARY)
    say(f"tokens: {len(data):,} pairs")


def _count(folder: Path, key: str) -> Counter[str]:
    return count_words(read_pairs(folder, key))


def _encode(folder: Path, vocabulary: Vocabulary, key: str) -> Dataset:
    return encode(read_pairs(folder, key), vocabulary)


def hear_teacher(work: Path, recipe: Recipe) -> None:
    """Let the teacher read its texts."""
    learning = Learning.read(work, recipe)
    ask_teacher(recipe, learning.data, learning.vocabulary, work / TEACHER, work / "models")


def forget_other(work: Path, recipe: Recipe) -> None:
    """Remove tables that were trained with another recipe or from other pairs."""
    place, wanted = work / _MADE_OF, made_of(work, recipe)
    learned = [path for pattern in _LEARNED for path in work.glob(pattern)]
    if learned and (not place.exists() or place.read_text() != wanted):
        say("train: the recipe or the pairs have changed; training again")
        forget(work, "train")
    place.write_text(wanted)


def make_model(work: Path, seed: int) -> None:
    """Train one model and write it."""
    vocabulary, weights = learn(work, seed, Recipe())
    with whole(model_folder(work, seed)) as fresh:
        TokenTable.of(vocabulary, weights.rows, np.exp(weights.log_query)).write(fresh)


def measure(work: Path, seed: int, keys: Sequence[str], cosqa: Path | None) -> dict[str, dict[str, object]]:
    """Return the figures of one model."""
    table = TokenTable.read(model_folder(work, seed))
    model = figures.Model(table.asking.embed, table.embed)
    found = figures.held_out(model, [pair for key in keys for pair in read_pairs(work / "pairs", key)])
    if cosqa:
        found["cosqa"] = figures.cosqa(model, cosqa)
    for name, figure in found.items():
        say(f"seed {seed}: {name} {figure}")
    return {name: asdict(figure) for name, figure in found.items()}


def model_folder(work: Path, seed: int) -> Path:
    """Return the folder of a seed's model."""
    return work / f"model-{seed}"


def forget(work: Path, stage: str) -> None:
    """Remove the results of a stage and of all later stages."""
    places = {
        "packages": ["packages"],
        "pairs": ["pairs"],
        "tokens": [PAIRS, VOCABULARY],
        "teacher": [TEACHER],
        "train": [path.name for pattern in _LEARNED for path in work.glob(pattern)],
        "measure": ["figures.json"],
    }
    for later in STAGES[STAGES.index(stage) :]:
        for name in places[later]:
            place = work / name
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="folder for all results (10 GB)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], metavar="N", help="seeds, one model per seed (1)")
    parser.add_argument("--cosqa", type=Path, metavar="FOLDER", help="also measure on CoSQA's development half")
    parser.add_argument("--again", choices=STAGES, help="repeat this stage and all later stages")
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    if options.again:
        forget(work, options.again)
    packages = read_packages()
    keys = [package.key for package in packages]
    apart = held_out(keys, HELD_OUT)
    make_pairs(work, packages)
    present = [key for key in keys if (work / "pairs" / f"{key}.jsonl.gz").exists()]
    learned = [key for key in present if key not in apart]
    _unless((work / VOCABULARY).exists(), lambda: make_tokens(work, learned))
    forget_other(work, Recipe())
    _unless(all(model_folder(work, seed).exists() for seed in options.seeds), lambda: hear_teacher(work, Recipe()))
    for seed in options.seeds:
        _unless(model_folder(work, seed).exists(), lambda seed=seed: make_model(work, seed))
    measured = [key for key in present if key in apart]
    results = {str(seed): measure(work, seed, measured, options.cosqa) for seed in options.seeds}
    (work / "figures.json").write_text(json.dumps(results, indent=1) + "\n")
    say(f"done: {', '.join(str(model_folder(work, seed)) for seed in options.seeds)}, {work / 'figures.json'}")


def _unless(done: bool, stage: Callable[[], None]) -> None:
    if not done:
        stage()


if __name__ == "__main__":
    main()
