"""Groups that are named on the command line: found, or a failure with the names like theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.groups import GroupView, find_group, list_consumer_groups
from headrace.cli.asking import explained
from headrace.cli.failures import Failure, did_you_mean

# Kafka's states of groups in both protocols.
STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning",
    "Reconciling",
)  # fmt: skip


def require_groups(admin: Admin, names: Iterable[str]) -> tuple[list[GroupView], list[Failure]]:
    """The groups in the order of their names, and why the others could not be had."""
    found: list[GroupView] = []
    failures: list[Failure] = []
    missing = []
    for name in dict.fromkeys(names):
        try:
            with explained(f'group "{name}"'):
                group = find_group(admin, name)
        except Failure as failure:
            failures.append(failure)
            continue
        if group is None:
            missing.append(name)
        else:
            found.append(group)
    if missing:
        with explained():
            known = [listed.group for listed in list_consumer_groups(admin)]
        failures += [_no_such_group(name, known) for name in missing]
    return found, failures


def _no_such_group(name: str, known: Iterable[str]) -> Failure:
    hint = did_you_mean(name, known) or 'see "headrace group list"'
    return Failure(f'there is no group "{name}"', hint)
