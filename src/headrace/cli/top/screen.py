"""The live view in a terminal: three tables that are drawn anew, until `q` or Ctrl-C."""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

from headrace.cli.durations import show_duration
from headrace.cli.output import cell
from headrace.cli.sizes import show_bytes
from headrace.cli.top.figures import (
    BROKER_COLUMNS,
    GROUP_COLUMNS,
    TOPIC_COLUMNS,
    Figures,
    Row,
)

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

_HEADS: Final = {
    "records_s": "RECORDS/S",
    "under_replicated": "UNDER-REPL.",
    "caught_up_in_s": "CAUGHT UP IN",
}
_TEXTS: Final = ("topic", "group", "address", "rack", "state")
# Lines that are no rows: the head line, and of each table a blank one, its head and its caption.
_FRAME_LINES: Final = 10
_LEAST_ROWS: Final = 3


def show(
    look: Callable[[], Figures | str], interval_s: float, *, stdin: IO[str] | None = None
) -> None:
    """Draw what `look` finds, again and again; a text is told instead of figures."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    source = stdin or sys.stdin
    with _keys(source), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            found = look()
            live.update(found if isinstance(found, str) else draw(found, console), refresh=True)
            if _quits(source, interval_s):
                return


def draw(figures: Figures, console: Console) -> Group:
    """The whole screen; tables give way to each other, and say what they leave out."""
    from rich.console import Group
    from rich.text import Text

    rooms = _rooms(
        [len(figures.brokers), len(figures.topics), len(figures.groups)],
        max(console.size.height - _FRAME_LINES, 3 * _LEAST_ROWS),
    )
    controller = "none" if figures.controller is None else f"broker {figures.controller}"
    head = Text(
        f"cluster {figures.cluster_id}  controller: {controller}  "
        f"over {figures.interval_s:.1f} s  (q quits)",
        style="bold",
    )
    tables = zip(
        (figures.brokers, figures.topics, figures.groups),
        (BROKER_COLUMNS, TOPIC_COLUMNS, GROUP_COLUMNS),
        ("brokers", "topics", "groups"),
        rooms,
        strict=True,
    )
    drawn = (_table(*each) for each in tables)
    return Group(head, *(part for table in drawn for part in (Text(""), table)))


def _rooms(wanted: Sequence[int], lines: int) -> list[int]:
    """How many rows each table gets: all that it has if they fit, else a fair share."""
    rooms = [0] * len(wanted)
    left = lines
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for position, index in enumerate(order):
        rooms[index] = min(wanted[index], left // (len(wanted) - position))
        left -= rooms[index]
    return rooms


def _table(rows: Sequence[Row], columns: Sequence[str], name: str, room: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    hidden = len(rows) - room
    caption = f"and {hidden} more {name}" if hidden > 0 else ("" if rows else f"no {name}")
    table = Table(box=None, expand=True, pad_edge=False, caption=caption, caption_justify="left")
    for column in columns:
        head = _HEADS.get(column, column.replace("_", "-").upper())
        table.add_column(
            head,
            justify="left" if column in _TEXTS else "right",
            no_wrap=True,
            overflow="ellipsis",
            min_width=len(head),
            header_style="reverse",
            ratio=3 if column in ("topic", "group", "address") else 1,
        )
    for row in rows[:room]:
        # As text: a name may look like rich's markup.
        cells = (Text(shown(column, row[column]), style=_style(column, row)) for column in columns)
        table.add_row(*cells)
    return table


def shown(column: str, value: Any) -> str:
    """One value as a person reads it at a glance."""
    if value is None:
        return "-"
    if column == "size":
        return show_bytes(value)
    if column == "caught_up_in_s":
        return show_duration(value * 1000)
    if column == "records_s":
        return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"
    if column == "lag":
        return f"{value:,}"
    return cell(value)


def _style(column: str, row: Row) -> str:
    alarming = (
        (column in ("under_replicated", "offline") and row[column])
        or (column == "address" and row[column] == "down")
        or (column == "caught_up_in_s" and row[column] is None)
    )
    return "bold red" if alarming else ""


@contextlib.contextmanager
def _keys(source: IO[str]) -> Iterator[None]:
    """Single keys, not lines, where a person can press some."""
    if not source.isatty():
        yield
        return
    import termios
    import tty

    kept = termios.tcgetattr(source)
    tty.setcbreak(source)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, kept)


def _quits(source: IO[str], within_s: float) -> bool:
    """Wait for the next look; True if `q` was pressed meanwhile."""
    ready, _, _ = select.select([source], [], [], within_s)
    return bool(ready) and source.read(1) in ("q", "Q", "")
