"""A failing seed becomes a short story: what need not happen for the failure is left out.

The network gets fair weather if it may, then whole kinds of upheavals go, then single ones, as long
as the same invariant breaks. Chance is drawn in streams, so what is left stays much as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tests.simulation.cluster.upheavals import Kind
from tests.simulation.cluster.world import ClusterWorld
from tests.simulation.failure import InvariantBroken


@dataclass(frozen=True, slots=True)
class Story:
    """How an invariant came to break."""

    seed: int
    invariant: str
    failure: str
    sentences: list[str]
    without: frozenset[int | Kind] = field(default_factory=frozenset)
    fair_weather: bool = False


def tell(
    seed: int,
    *,
    without: Collection[int | Kind] = (),
    fair_weather: bool = False,
    tells_logs: bool = False,
) -> Story | None:
    """The story of a seed that fails; None if it does not."""
    sentences: list[str] = []
    world = ClusterWorld(
        seed,
        without=without,
        fair_weather=fair_weather,
        storyteller=sentences.append,
        tells_logs=tells_logs,
    )
    try:
        world.run()
    except InvariantBroken as broken:
        failure = str(broken)
        name = failure.partition(":")[0]
        return Story(seed, name, failure, sentences, frozenset(without), fair_weather)
    return None


def shrink(seed: int, report: Callable[[str], None]) -> Story | None:
    """The shortest story that is easily found in which the same invariant breaks."""
    story = tell(seed)
    if story is None:
        return None
    report(f"{story.invariant} breaks; looking for what is needed for it")
    fair = tell(seed, fair_weather=True)
    if fair is not None and fair.invariant == story.invariant:
        story = fair
        report("the network may be a good one")
    candidates: list[int | Kind] = list(Kind)
    candidates += [upheaval.number for upheaval in ClusterWorld(seed).upheavals]
    for candidate in candidates:
        if _is_gone(seed, candidate, story):
            continue
        shorter = tell(seed, without=story.without | {candidate}, fair_weather=story.fair_weather)
        if shorter is not None and shorter.invariant == story.invariant:
            story = shorter
            name = candidate.words if isinstance(candidate, Kind) else f"number {candidate}"
            report(f"not needed: {name}")
    return story


def _is_gone(seed: int, candidate: int | Kind, story: Story) -> bool:
    """Whether leaving this out changes nothing, because it does not happen anyway."""
    left = ClusterWorld(seed, without=story.without).upheavals
    return not any(candidate in (upheaval.number, upheaval.kind) for upheaval in left)
