"""Many seeds, one after the other or side by side; or the story of one.

    python -m tests.simulation.cluster --seeds 1-10000 --jobs 2 --minutes 6
    python -m tests.simulation.cluster --tell 8412
    python -m tests.simulation.cluster --shrink 8412

Ends with 1 and the story if an invariant breaks.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final

from tests.simulation.cluster.shrinking import Story, shrink, tell
from tests.simulation.cluster.world import ClusterWorld
from tests.simulation.failure import InvariantBroken

# Of a world on average, if its quiet is as long as usual.
_BUSY_MINUTES: Final = 1.0
_QUIET_MINUTES: Final = 1.9

Outcome = tuple[int, int, str]
"""A seed, how many virtual milliseconds it lasted, and what broke, if anything."""


def run(arguments: tuple[int, float]) -> Outcome:
    seed, stretch = arguments
    world = ClusterWorld(seed, stretch=stretch)
    try:
        world.run()
    except InvariantBroken as broken:
        return seed, world.schedule.elapsed_ms, str(broken)
    return seed, world.schedule.elapsed_ms, ""


def _outcomes(seeds: Iterable[int], stretch: float, jobs: int) -> Iterator[Outcome]:
    work = ((seed, stretch) for seed in seeds)
    if jobs == 1:
        yield from map(run, work)
        return
    with multiprocessing.Pool(jobs, maxtasksperchild=500) as pool:
        yield from pool.imap_unordered(run, work, chunksize=4)


def run_many(seeds: range, stretch: float, jobs: int) -> int:
    began_s = told_s = time.monotonic()
    virtual_ms = 0
    broken: list[Outcome] = []
    for done, outcome in enumerate(_outcomes(seeds, stretch, jobs), 1):
        virtual_ms += outcome[1]
        if outcome[2]:
            broken.append(outcome)
            sys.stdout.write(f"seed {outcome[0]}: {outcome[2].partition(chr(10))[0]}\n")
        now_s = time.monotonic()
        if now_s - told_s > 5 or done == len(seeds):
            told_s = now_s
            rate = done / (now_s - began_s)
            sys.stdout.write(
                f"{done} of {len(seeds)} seeds, {virtual_ms / 3_600_000:.1f} virtual hours, "
                f"{rate:.2f} seeds/s, {len(broken)} broken\n"
            )
            sys.stdout.flush()
    for seed, _, _ in sorted(broken)[:3]:
        _print(tell(seed), seed)
    return 1 if broken else 0


def _note(line: str) -> None:
    sys.stderr.write(line + "\n")


def _print(story: Story | None, seed: int) -> None:
    if story is None:
        sys.stdout.write(f"seed {seed}: no invariant breaks\n")
        return
    lines = [f"\nThe story of seed {seed}", *story.sentences, story.failure]
    sys.stdout.write("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.cluster")
    parser.add_argument("--seeds", default="1-100", help="one seed, or the first and the last")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--minutes", type=float, default=0, help="virtual minutes per seed, about")
    parser.add_argument("--tell", type=int, metavar="SEED", help="the story of one seed")
    parser.add_argument("--logs", action="store_true", help="tell what brokers log as well")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="a shorter story of one seed")
    options = parser.parse_args()
    if options.tell is not None:
        story = tell(options.tell, tells_logs=options.logs)
        _print(story, options.tell)
        return 0 if story is None else 1
    if options.shrink is not None:
        story = shrink(options.shrink, _note)
        _print(story, options.shrink)
        return 0 if story is None else 1
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    stretch = max(1.0, (options.minutes - _BUSY_MINUTES) / _QUIET_MINUTES)
    return run_many(seeds, stretch, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
