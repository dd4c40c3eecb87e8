"""Runs the labs, one after the other, and sums up.

    python -m examples.labs                       all of them
    python -m examples.labs single_node lego      some
    python -m examples.labs --list                which there are

Labs with the same stage share it. The exit code is 0 if every outcome was as expected.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

from examples.cluster.lab import LabFailed, say
from examples.labs.catalogue import LABS, Lab, Stage, find, on_stage
from examples.labs.staging import broker_stage, cluster_stage, platform_stage


class Outcome(NamedTuple):
    """How a lab ended: without a fault if its promises were kept."""

    lab: Lab
    seconds: float
    fault: str


STAGES: Final[dict[Stage, Callable[[], AbstractContextManager[Any]]]] = {
    Stage.ALONE: nullcontext,
    Stage.BROKER: broker_stage,
    Stage.PLATFORM: platform_stage,
    Stage.CLUSTER: cluster_stage,
}


def run_labs(labs: list[Lab]) -> list[Outcome]:
    """Tell all stories; one that fails does not keep the others from being told."""
    outcomes = []
    for kind in Stage:
        chosen = [lab for lab in labs if lab.stage is kind]
        if not chosen:
            continue
        with STAGES[kind]() as stage:
            outcomes += [run_lab(lab, stage) for lab in chosen]
    return outcomes


def run_lab(lab: Lab, stage: Any) -> Outcome:
    say(f"===== {lab.name}: {lab.shows} =====")
    begun = time.monotonic()
    fault = ""
    try:
        on_stage(lab, stage)
    except LabFailed as failure:
        fault = str(failure)
        print(f"the lab failed: {fault}", flush=True)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return Outcome(lab, time.monotonic() - begun, fault)


def summary(outcomes: list[Outcome]) -> str:
    width = max(len(outcome.lab.name) for outcome in outcomes)
    lines = [
        f"{outcome.lab.name:{width}}  {outcome.seconds:5.1f} s  {outcome.fault or 'as promised'}"
        for outcome in outcomes
    ]
    failed = sum(bool(outcome.fault) for outcome in outcomes)
    took = sum(outcome.seconds for outcome in outcomes)
    lines.append(f"{len(outcomes)} labs in {took:.0f} s, {failed} failed")
    return "\n".join(lines)


def show_list() -> None:
    width = max(len(lab.command) for lab in LABS)
    for lab in LABS:
        print(f"{lab.command:{width}}  {lab.shows}")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.labs", description="Runs labs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="labs; all if none is named")
    parser.add_argument("--list", action="store_true", help="only show which there are")
    given = parser.parse_args(words)
    if given.list:
        show_list()
        return 0
    labs = []
    for name in given.names:
        lab = find(name)
        if lab is None:
            parser.error(f'there is no lab "{name}"; --list shows them all')
        labs.append(lab)
    outcomes = run_labs(labs or LABS)
    say("Summary")
    print(summary(outcomes))
    return 1 if any(outcome.fault for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
