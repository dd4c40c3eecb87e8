"""What is the matter with a partition, and what its topic asks of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from headrace.admin import views
from headrace.admin.settings import SettingView

UNDER_REPLICATED: Final = "under-replicated"
OFFLINE: Final = "offline"
UNDER_MIN_ISR: Final = "under-min-isr"


def ailments(
    partition: views.PartitionView,
    move: views.Reassignment | None,
    min_isr: int,
    live: Collection[int],
) -> list[str]:
    """What is the matter with a partition, the worst first."""
    answers: Mapping[str, bool] = {
        OFFLINE: views.is_offline(partition, live),
        UNDER_MIN_ISR: views.is_under_min_isr(partition, min_isr),
        UNDER_REPLICATED: views.is_under_replicated(partition, move),
    }
    return [name for name, yes in answers.items() if yes]


def min_isr_of(settings: Sequence[SettingView]) -> int:
    """`min.insync.replicas` among the settings of a topic."""
    for each in settings:
        if each.name == "min.insync.replicas" and each.value is not None:
            return int(each.value)
    return 1
