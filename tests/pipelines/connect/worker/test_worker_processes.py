"""Workers that end, by order and by a kill: nothing is lost, and others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.pipelines.connect.worker.herding import worker_id
from tests.pipelines.connect.worker.clustering import (
    Node,
    is_joined,
    runs,
    source,
    until,
    worker_settings,
)
from tests.pipelines.connect.worker.processes import Process, configure, ours
from tests.pipelines.connect.worker.running import values

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def started(bootstrap: str, topic: str, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts processes of one group, which end with the test."""
    made: list[Process] = []

    def start(**settings: str) -> Process:
        named = {key.replace("_", "."): value for key, value in settings.items()}
        wanted = worker_settings(bootstrap, f"g-{topic}", **named)
        made.append(ours(wanted, tmp_path, f"worker-{len(made)}"))
        return made[-1]

    yield start
    for process in made:
        process.stop(kill=True)


def test_a_worker_goes_on_where_it_stopped(
    started: Callable[..., Process], bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """Another process on the same topics sends the lines that are new, and no others."""
    lines = tmp_path / "lines"
    some = [f"a{number}" for number in range(1000)]
    lines.write_text("".join(f"{line}\n" for line in some))
    first = started()
    configure(bootstrap, f"g-{topic}", "s", source(lines, topic))
    assert values(bootstrap, topic, 1000) == [line.encode() for line in some]
    first.stop()
    with lines.open("a") as file:
        file.writelines(f"b{number}\n" for number in range(1000))
    started()
    expected = [line.encode() for line in lines.read_text().splitlines()]
    assert values(bootstrap, topic, 2000) == expected


@pytest.mark.spec("book2:C-05", "book2:C-06")
def test_others_take_over_from_a_worker_that_was_killed(
    started: Callable[..., Process], bootstrap: str, topic: str, tmp_path: Path
) -> None:
    """Three share three connectors; after the delay two have them, and all lines come."""
    node = Node(bootstrap, f"g-{topic}", {"scheduled.rebalance.max.delay.ms": "1000"})
    try:
        until("it joins", lambda: is_joined(node.worker))
        names = ["s0", "s1", "s2"]
        processes = {}
        for _ in range(2):
            process = started(scheduled_rebalance_max_delay_ms="1000")
            processes[worker_id(process.url())] = process
        for name in names:
            (tmp_path / name).write_text(f"{name} before\n")
            node.worker.create(name, source(tmp_path / name, topic), None)

        def owners() -> dict[str, str]:
            return {name: node.worker.status(name).status.worker_id for name in names}

        until("all run", lambda: all(runs(node.worker, name) for name in names))
        until("each has one", lambda: len(set(owners().values())) == 3)
        killed = next(owner for owner in owners().values() if owner in processes)
        processes[killed].stop(kill=True)
        for name in names:
            with (tmp_path / name).open("a") as file:
                file.write(f"{name} after\n")
        until("two have all", lambda: killed not in owners().values())
        until("all run again", lambda: all(runs(node.worker, name) for name in names))
        wanted = {f"{name} {when}".encode() for name in names for when in ("before", "after")}
        # What the killed worker had sent and not committed comes twice.
        counts = range(6, 6 + len(names) + 1)
        assert any(set(values(bootstrap, topic, count)) >= wanted for count in counts)
    finally:
        node.stop()
