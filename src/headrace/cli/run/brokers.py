"""Which brokers a run uses: those that were named, the platform of this machine, or its own.

After `headrace up` in one terminal, `headrace run` in the next one means that platform. Programs
that write samples look at how the brokers were chosen, so the choice carries its origin.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from headrace.cli.failures import WrongUsage
from headrace.cli.options import DEFAULT_SERVERS
from headrace.cli.reach import find_fault
from headrace.cli.target import parse_address

_ANSWER_TIMEOUT_S: Final = 2.0


class Origin(StrEnum):
    """How the brokers of a run were chosen."""

    OPTION = "option"
    ENVIRONMENT = "environment"
    PROFILE = "profile"
    MACHINE = "machine"  # the platform that runs here
    OWN = "own"  # started with the run
    NONE = "none"  # the pipeline knows


class Brokers(NamedTuple):
    """The choice; its own broker has no address yet."""

    servers: str | None
    origin: Origin


def choose_brokers(
    named: str | None,
    named_by: Origin,
    *,
    own: bool | None,
    is_local: bool,
    here: str = DEFAULT_SERVERS,
) -> Brokers:
    """`own`: a broker of its own was asked for (True), forbidden (False), or neither.

    `here` is where `headrace up` puts a broker. Only a local Spark can use the brokers of this
    machine: workers elsewhere cannot reach them.
    """
    if own:
        if named is not None and named_by is Origin.OPTION:
            raise WrongUsage(
                f"--broker starts a broker, and --bootstrap-server names one ({named})",
                "give one of the two",
            )
        if not is_local:
            raise WrongUsage(
                "--broker needs a local master: other machines cannot reach that broker",
                "name the brokers with --bootstrap-server",
            )
        return Brokers(None, Origin.OWN)
    if named is not None:
        return Brokers(named, named_by)
    if own is False or not is_local:
        return Brokers(None, Origin.NONE)
    if find_fault(parse_address(here), tls=False, timeout_s=_ANSWER_TIMEOUT_S) is None:
        return Brokers(here, Origin.MACHINE)
    return Brokers(None, Origin.OWN)
