"""Plays a case on a stage, and says whether two answers to it are alike."""

from __future__ import annotations

import difflib
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.parity import cases
from tests.parity.answer import Answer
from tests.parity.case import Case
from tests.parity.normal import Normal, normal
from tests.parity.stage import Stage

Run = Callable[[str, list[str], str, float], Answer]

RECORDED = Path(__file__).resolve().parent / "recorded"
_THEN = "-- then --"


def all_cases() -> list[Case]:
    """Those of every module in `cases/`, by tool."""
    modules = (
        importlib.import_module(f"{cases.__name__}.{each.name}")
        for each in pkgutil.iter_modules(cases.__path__)
    )
    found: list[Case] = [case for module in modules for case in module.CASES]
    keys = [(case.tool, case.key) for case in found]
    twice = {key for key in keys if keys.count(key) > 1}
    assert not twice, f"two cases have the same words, give them names: {sorted(twice)}"
    return sorted(found, key=lambda case: (case.tool, case.key))


def play(case: Case, stage: Stage, run: Run) -> Normal:
    """Prepare the stage, run the command, ask what it left behind."""
    with stage.prepared(case.setup):
        places = stage.places
        told = normal(case, run(case.tool, case.argv(**places), case.stdin, case.timeout_s), places)
        if not case.then:
            return told
        answer = run(case.tool, case.argv_then(**places), "", case.timeout_s)
        after = normal(case, answer, places)
    return Normal(told.code, (*told.out, _THEN, *after.out), (*told.err, *after.err))


def differences(theirs: Normal, ours: Normal) -> Iterator[str]:
    """What ours has otherwise, line by line; nothing if they are alike."""
    if theirs.code != ours.code:
        yield f"exit code {ours.code}, Kafka's is {theirs.code}"
    for name in ("out", "err"):
        one, other = getattr(theirs, name), getattr(ours, name)
        if one != other:
            yield from difflib.unified_diff(one, other, f"Kafka's {name}", "ours", lineterm="", n=1)


# -- recordings -----------------------------------------------------------------------------------


def read_recorded(tool: str) -> dict[str, Normal]:
    """What Kafka's tool answered, by the key of the case."""
    path = RECORDED / f"{tool}.json"
    if not path.exists():
        return {}
    return {key: Normal.from_json(told) for key, told in json.loads(path.read_text()).items()}


def write_recorded(tool: str, answers: dict[str, Normal]) -> None:
    """Keep what Kafka's tool answered."""
    told = {key: answers[key].as_json() for key in sorted(answers)}
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (RECORDED / f"{tool}.json").write_text(text + "\n")
