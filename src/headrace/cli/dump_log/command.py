"""`headrace dump-log`: what the files of a data folder hold, and whether it can be right.

Files are mapped and only read, so a running broker is not disturbed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli import yaml
from headrace.cli.dump_log.files import dump_file, is_known
from headrace.cli.dump_log.mapped import Entry, Wanted
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import OutputOption
from headrace.cli.output import Output, cell
from headrace.cli.parameters import argument, option
from headrace.cli.record_text import Encoding, compact_json

_BARE: Final = re.compile(r"[\w.:-]+")
_EPILOG: Final = """\b
Examples:
  headrace dump-log data/orders-0/*.log --deep
  headrace dump-log data/orders-0 --verify"""

Paths = Annotated[list[str], argument("PATH…", "Files, or folders of partitions.")]
DeepFlag = Annotated[bool, option("--deep", "Also print the records of each batch.")]
VerifyFlag = Annotated[
    bool, option("--verify", "Check CRCs, offsets and indexes; exit 1 on a fault.")
]
KeyFormat = Annotated[Encoding, typer.Option(help="Encoding of keys in the output.")]
ValueFormat = Annotated[Encoding, typer.Option(help="Encoding of values in the output.")]


def dump_log(
    paths: Paths,
    deep: DeepFlag = False,
    verify: VerifyFlag = False,
    key_format: KeyFormat = Encoding.TEXT,
    value_format: ValueFormat = Encoding.TEXT,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print batches, index entries, producer snapshots and checkpoints; never changes a file."""
    wanted = Wanted(deep, verify, key_format, value_format)
    faults = 0
    for path in _expand(paths):
        if output is Output.TABLE:
            print(path)
        for entry in dump_file(path, wanted):
            faults += "fault" in entry
            sys.stdout.write(_render(path, entry, output))
    if faults:
        raise Failure(
            f"{faults} faults were found", "a broker recovers logs and indexes when it starts"
        )


def _expand(paths: list[str]) -> Iterator[Path]:
    """Files as named, separated by commas if need be; of folders, the files that are known."""
    for text in paths:
        parts = [text] if Path(text).exists() else text.split(",")
        for path in map(Path, parts):
            if path.is_dir():
                yield from sorted(file for file in path.iterdir() if is_known(file.name))
            elif path.exists():
                yield path
            else:
                raise WrongUsage(f"{path} does not exist", "name files or folders of a data folder")


def _render(path: Path, entry: Entry, output: Output) -> str:
    if output is Output.JSON:
        return compact_json({"file": str(path), **entry}) + "\n"
    if output is Output.YAML:
        return "---\n" + yaml.dump({"file": str(path), **entry})
    indent = "    " if entry.get("kind") == "record" else "  "
    words = [f"{name}={_shown(value)}" for name, value in entry.items() if name != "kind"]
    return indent + " ".join([str(entry.get("kind", "")), *words]).strip() + "\n"


def _shown(value: object) -> str:
    if isinstance(value, list) or (isinstance(value, str) and not _BARE.fullmatch(value)):
        return compact_json(value)
    return cell(value)


def register(app: typer.Typer) -> None:
    app.command("dump-log", epilog=_EPILOG)(dump_log)
