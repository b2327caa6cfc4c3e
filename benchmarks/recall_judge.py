"""Measure recall with a judge that approves what is labeled as needed, and with one that errs; no model is asked.

    recall_judge.py DATA [--only a,b] [--plain] [--when always,unsure] [--errors 0,0.05,0.1,0.2] [--rounds 3] [--json]

DATA is a folder of stores as for `recall_natural.py`. Ranking, questions, decision and prices are the product's; only the answer of the
model is made up. `--plain` cuts each memory to its title and the first sentence of its text, without tags and phrases. A judge that errs
in 10% gives a wrong answer to one question in ten: it omits what is needed, or else approves a random other candidate.
With `--per-candidate`, which is harder, the verdict on each single candidate is wrong in 10%.

told: share of the prompts that need a memory which got one that they need in full; reached: in full or as a pointer; wrong: share of the
memories told, on all prompts, that do not bear on their prompt; calls, tokens and dollars are those of all prompts, each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from typing import NamedTuple
from unittest.mock import patch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_natural import PromptResult, whole_store
from benchmarks.recall_stores import Record, Set, mean, sets
from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.judge.models import price_of
from memory_plugin.kernel.judge.question import Question, Verdict, one_line
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings import Settings, shipped
from memory_plugin.recall import decision
from memory_plugin.recall.decision import Limits, choose
from memory_plugin.recall.history import RecallHistory
from memory_plugin.recall.judging import AUTO, judge_candidates

BYTES_PER_TOKEN = 3.3  # of the questions, which are English prose and JSON
ANSWER_TOKENS = 12
WITHOUT = "no judge"


class Row(NamedTuple):
    """The figures of one form and one judge; calls, tokens and dollars are means over all prompts."""

    form: str
    errors: float
    told: float
    reached: float
    wrong: float
    hinted: float
    calls: float
    tokens: float
    dollars: float


class LabeledJudge:
    """Answers like a model that knows the labels and errs with a probability; counts calls and tokens."""

    def __init__(self, errors: float, *, per_candidate: bool, seed: int) -> None:
        self.errors, self.per_candidate = errors, per_candidate
        self.random = random.Random(seed)
        self.needed: set[str] = set()  # titles
        self.calls = self.tokens = 0

    def answer(self, question: Question) -> Verdict:
        """Return the verdict on one question."""
        text = question.message
        notes = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])["notes"]
        right = [note["index"] for note in notes if note["title"] in self.needed]
        self.calls += 1
        self.tokens += round(len((question.rubric.system + text).encode()) / BYTES_PER_TOKEN)
        return Verdict({"chosen": sorted(self._chosen(right, len(notes))), "dropped": 0})

    def _chosen(self, right: list[int], offered: int) -> list[int]:
        if self.per_candidate:
            return [at for at in range(offered) if (at in right) != (self.random.random() < self.errors)]
        if self.random.random() >= self.errors:
            return right
        others = [at for at in range(offered) if at not in right]
        return [] if right and self.random.random() < 0.5 else others and [self.random.choice(others)]


def plain(source: Set) -> Set:
    """Return a set with each memory as a hurried person types it."""
    corpus: list[Record] = []
    for record in source.corpus:
        sentence = re.split(r"(?<=[.!?;。])\s|\n", str(record["body"]).strip(), maxsplit=1)[0][:160]
        corpus.append({**record, "body": sentence, "tags": [], "asked_as": []})
    return source._replace(corpus=corpus)


def measure(sources: list[Set], form: str, judge: LabeledJudge, paths: Paths) -> Row:
    """Return the figures of one form (`when` of the settings, or WITHOUT) with one judge."""
    found: list[tuple[PromptResult, set[str], set[str]]] = []
    Judge.ask_all = lambda _, questions, *__, **___: list(map(judge.answer, questions))  # type: ignore[method-assign]
    is_on = form != WITHOUT
    values = {"retrieval.judge.enabled": is_on, "retrieval.judge.when": form if is_on else "always"}
    settings = Settings(shipped("defaults.json")).with_values({**values, "judge.backend": "scripted"})
    for source in sources:
        titles = {str(record["id"]): one_line(str(record["title"]), 120) for record in source.corpus}
        texts = {str(prompt["id"]): str(prompt["text"]) for prompt in (*source.queries, *source.negatives)}
        for result in whole_store(source, judged=is_on and form == "always"):
            judge.needed = {titles[key] for key in result.needed() if key in titles}
            found.append((result, *_chosen(result, texts[result.identity], settings, paths)))
    price = price_of(settings.text("retrieval.judge.model"))
    prompts = len(found)
    needing = [row for row in found if row[0].needed()]
    return Row(
        form,
        judge.errors,
        mean([float(bool(result.needed() & told)) for result, told, _ in needing]),
        mean([float(bool(result.needed() & (told | pointed))) for result, told, pointed in needing]),
        mean([float(key not in result.relevant) for result, told, _ in found for key in told]),
        mean([float(bool(told | pointed)) for result, told, pointed in found if not result.relevant]),
        judge.calls / prompts,
        judge.tokens / prompts,
        price.dollars(judge.tokens // max(1, judge.calls), ANSWER_TOKENS) * judge.calls / prompts,
    )


def _chosen(result: PromptResult, text: str, settings: Settings, paths: Paths) -> tuple[set[str], set[str]]:
    """Return the keys that a prompt gets in full, and those with a pointer."""
    context = Context(paths, settings, Deadline(60), "")
    judged = judge_candidates(text, result.hits, AUTO, context, judges_off=False)
    limits = Limits(settings, 9500)
    limits.max_inject = min(limits.max_inject, judged.max_inject)
    choice = choose(result.hits, judged.approvals, limits, RecallHistory(paths, ""))
    return {hit.key for hit in choice.full}, {hit.key for hit in choice.pointers}


def main() -> int:
    """Print one row for each form and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--only", default="")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--when", default="always,unsure")
    parser.add_argument("--errors", default="0,0.05,0.1,0.2")
    parser.add_argument("--rounds", type=int, default=3, help="judges that err, with different seeds")
    parser.add_argument("--per-candidate", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources = [plain(source) if options.plain else source for source in sets(options.data, options.only)]
    # These memories have no files that could have been edited.
    with tempfile.TemporaryDirectory() as folder, patch.object(decision, "is_current", return_value=True):
        os.environ["CLAUDE_CONFIG_DIR"] = os.path.join(folder, "config")
        os.makedirs(os.path.join(folder, "project"))
        paths = Paths(os.path.join(folder, "project"))
        for form in (WITHOUT, *options.when.split(",")):
            for errors in map(float, options.errors.split(",") if form != WITHOUT else ["0"]):
                rows = []
                for seed in range(options.rounds if errors else 1):
                    judge = LabeledJudge(errors, per_candidate=options.per_candidate, seed=seed)
                    rows.append(measure(sources, form, judge, paths))
                row = Row(form, errors, *(mean(list(column)) for column in list(zip(*rows))[2:]))
                text = "%-8s errors %.2f  told %.3f  reached %.3f  wrong %.3f  hinted %.2f  calls %.2f  tokens %5.0f  $%.5f"
                print(json.dumps(row._asdict()) if options.json else text % row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
