"""What a connector or task does, and what it may do next.

A status says what is; a target state says what shall be. `WANTED` leads from the second to the
first, and `FOLLOWING` has every step that a status may take on the way.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.state.records import State, TargetState

WANTED: Final = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}
"""What a connector does once it does what it shall. Tasks of a stopped one are gone."""

_LEFT: Final = frozenset({State.UNASSIGNED, State.DESTROYED, State.RESTARTING})
"""From anywhere: it loses its worker, it is deleted, it is started anew."""

FOLLOWING: Final[dict[State, frozenset[State]]] = {
    State.UNASSIGNED: _LEFT | {State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED},
    State.RUNNING: _LEFT | {State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED},
    State.PAUSED: _LEFT | {State.PAUSED, State.RUNNING, State.STOPPED, State.FAILED},
    State.STOPPED: _LEFT | {State.STOPPED, State.RUNNING, State.PAUSED, State.FAILED},
    State.FAILED: _LEFT | {State.FAILED, State.RUNNING, State.PAUSED, State.STOPPED},
    State.RESTARTING: _LEFT | {State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED},
    State.DESTROYED: frozenset(),
}


def settled(target: TargetState, state: State) -> bool:
    """Whether a connector does what it shall."""
    return WANTED[target] is state
