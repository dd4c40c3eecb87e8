"""The classic group protocol: clients assign, the coordinator keeps generations apart."""

from headrace.coordinator.group.classic.group import ClassicGroup
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.coordinator.group.classic.state import ClassicState

__all__ = ["ClassicGroup", "ClassicMember", "ClassicState"]
