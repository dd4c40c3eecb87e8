"""The server-side assignors, by the names that `group.consumer.assignors` and members use."""

from __future__ import annotations

from typing import Final

from headrace.coordinator.group.consumer.assignors.range import assign_range
from headrace.coordinator.group.consumer.assignors.spec import Assignor, Candidate
from headrace.coordinator.group.consumer.assignors.uniform import assign_uniform

ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}

__all__ = ["ASSIGNORS", "Assignor", "Candidate"]
