"""Which tests run in one process, and in which order files are begun.

What uses Spark's session shares a process: one session, kernels compiled once. Every other file is
a unit of its own. Those that take long are begun first, so that no process works on one of them
alone at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xdist.scheduler.loadscope import LoadScopeScheduling

if TYPE_CHECKING:
    import pytest

SPARK: Final = (
    "tests/apps/test_",
    "tests/pipelines/columns/",
    "tests/pipelines/connector/",
    "tests/pipelines/kernels/",
    "tests/pipelines/lake/gobblin/",
    "tests/pipelines/run/",
    "tests/pipelines/serdes/",
    "tests/pipelines/sink/",
    "tests/pipelines/source/",
    "tests/pipelines/test_",
)
LONG: Final = (
    "tests/pipelines/connect/java/",
    "tests/pipelines/sessions/",
    "tests/pipelines/cluster/",
    "tests/docs/",
    "tests/simulation/",
    "tests/chaos/",
    "tests/streams/",
    "tests/clients/test_franz_go.py",
    "tests/clients/test_kafkajs.py",
    "tests/registry/clients/",
    "tests/clients/cluster/",
    "tests/conformance/",
    "tests/robustness/",
)


class Units(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out one unit after the other, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if file.startswith(SPARK) else file


def place(item: pytest.Item) -> int:
    """The sooner a test's unit is to begin, the less."""
    if item.nodeid.startswith(SPARK):
        return 0
    return next((n for n, long in enumerate(LONG, 1) if item.nodeid.startswith(long)), 100)
