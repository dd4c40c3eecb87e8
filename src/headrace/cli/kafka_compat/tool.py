"""A tool of Kafka's as a value, and the one way in which all of them run and end.

What is wrong with a command line is found before anything is asked of a broker. Kafka's own tools
end with 1 for every failure, wrong usage included, and print what the broker said without ornament;
scripts look for both. Where one fails in another way, its `Tool` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from headrace.admin.client import Admin
from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.administering import FAILED, Told, bare, complain, open_admin
from headrace.cli.kafka_compat.flags import Given, Takes, parse, usage
from headrace.errors import HeadraceError

Work = Callable[[], int | None]
"""What is left to do once the command line is understood; an exit code, None for 0."""


def read_flags(tool: Tool, words: list[str], command: str = "") -> Given | None:
    """`--help` and `--version` are answered; wrong flags, and none at all, are `Told`."""
    if not words:
        raise Told(tool.usage)
    if "--help" in words:
        print(tool.usage)
        return None
    if "--version" in words:
        from headrace import __version__

        print(f"{__version__} (headrace)")
        return None
    try:
        return parse(words, tool.flags, command)
    except WrongUsage as error:
        raise Told(str(error)) from None


# -- ways to end ----------------------------------------------------------------------------------


def complained(error: HeadraceError) -> int:
    """The cause alone."""
    return complain(bare(error))


def only_usage(error: HeadraceError) -> int:
    """Complains about what the command line is to blame for; `main` tells the rest."""
    if not isinstance(error, Told | WrongUsage):
        raise error
    return complain(str(error))


def left_to_main(error: HeadraceError, _given: Given) -> int:
    raise error


def printed(line: str) -> Callable[[HeadraceError, Given], int]:
    """A line on standard output, with the cause in it."""

    def failed(error: HeadraceError, _given: Given) -> int:
        print(line.format(bare(error)))
        return FAILED

    return failed


# -- a tool ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tool:
    """Called with the words of a command line, it gives the exit code."""

    name: str
    flags: Mapping[str, Takes]
    example: str
    """Of its use, without the name."""
    plan: Callable[[Given], Work]
    """Judges the flags and says what is to be done."""
    refused: Callable[[HeadraceError], int] = complained
    """How a command line ends that is not accepted."""
    failed: Callable[[HeadraceError, Given], int] | None = None
    """How work ends that could not be done; None: in the same way."""
    read: Callable[[Tool, list[str]], Given | None] = read_flags
    """The words as flags; None once `--help` or the like was answered."""
    commands: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Of a tool with commands: which flags belong to which; those of none go with all."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Flags of one letter, and what they stand for."""

    def __call__(self, words: list[str]) -> int:
        try:
            given = self.read(self, words)
            if given is None:
                return 0
            work = self.plan(given)
        except HeadraceError as error:
            return self.refused(error)
        try:
            return work() or 0
        except HeadraceError as error:
            return self.refused(error) if self.failed is None else self.failed(error, given)

    @property
    def usage(self) -> str:
        """What `--help` prints."""
        title = f"{self.name} {'|'.join(self.commands)}".rstrip()
        return usage(title, self.flags, f"{self.name} {self.example}")


def on_cluster(
    given: Given,
    servers: str,
    work: Callable[[Admin, Given], int | None],
    config: str | None = None,
) -> Work:
    """Work with these brokers, by the settings of `--command-config` unless others are named."""

    def run() -> int | None:
        with open_admin(servers, config or given.text("--command-config")) as admin:
            return work(admin, given)

    return run
