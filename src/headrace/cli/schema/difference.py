"""`headrace schema diff`: what changed between two versions of a subject.

Schemas in JSON are compared by their structure, fields by their names: a change of order or of
spacing alone is told as such, or not at all. Protobuf is compared line by line.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption
from headrace.cli.output import Output, emit
from headrace.cli.parameters import argument
from headrace.cli.schema.changes import Change, changes, line_changes
from headrace.cli.schema.contents import AVRO, get_version
from headrace.cli.schema.registry import Registry, ServerOptions, SubjectArgument

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "reordered": "~"}


def diff(
    subject: SubjectArgument,
    first: Annotated[str | None, argument("[FROM]", "Default: the one before TO.")] = None,
    second: Annotated[str, argument("[TO]", "Default: latest.", show_default=False)] = "latest",
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what changed between two versions, and whether each reads what the other wrote."""
    with server:
        after = get_version(server, subject, second)
        before = get_version(server, subject, first or _previous(server, subject, after["version"]))
        found = _compare(before, after)
        report = {
            "subject": subject,
            "from": _place(before),
            "to": _place(after),
            "changes": [each._asdict() for each in found],
            **_readability(server, before, after),
        }
    emit(report, output, lambda: _as_text(report, found))


def _previous(server: Registry, subject: str, version: int) -> str:
    earlier = [
        each for each in server.ask("GET", "subjects", subject, "versions") if each < version
    ]
    if not earlier:
        raise Failure(f'version {version} of "{subject}" has no predecessor', "name two versions")
    return str(max(earlier))


def _place(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": found["version"],
        "id": found["id"],
        "type": found.get("schemaType", AVRO),
    }


def _compare(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    types = {before.get("schemaType", AVRO), after.get("schemaType", AVRO)}
    found: list[Change] = []
    if len(types) == 1 and "PROTOBUF" not in types:
        found = changes(json.loads(before["schema"]), json.loads(after["schema"]))
    else:
        found = line_changes(before["schema"], after["schema"])
    for part in ("references", "metadata", "ruleSet"):
        found += changes(before.get(part), after.get(part), f"({part})")
    return found


def _readability(
    server: Registry, before: dict[str, Any], after: dict[str, Any]
) -> dict[str, bool]:
    # Parsers of schemas are loaded only here.
    from headrace.cli.schema.comparing import parse_fetched
    from headrace.schemas.formats import incompatibilities
    from headrace.schemas.model import InvalidSchema

    try:
        old, new = parse_fetched(server, before), parse_fetched(server, after)
    except InvalidSchema:
        return {}
    return {
        "backward": not incompatibilities(new, old),
        "forward": not incompatibilities(old, new),
    }


def _as_text(report: dict[str, Any], found: list[Change]) -> str:
    old, new = report["from"], report["to"]
    lines = [
        f"{report['subject']}: version {old['version']} (id {old['id']}, {old['type']}) -> "
        f"version {new['version']} (id {new['id']}, {new['type']})"
    ]
    lines += [_line(each) for each in found] or ["nothing changed"]
    if "backward" in report:
        words = {True: "reads", False: "does NOT read"}
        lines.append(
            f"the new one {words[report['backward']]} what the old one wrote, "
            f"the old one {words[report['forward']]} what the new one wrote"
        )
    return "\n".join(lines) + "\n"


def _line(change: Change) -> str:
    sign = _SIGNS[change.change]
    if not change.path:
        return f"{sign} {change.after if change.before is None else change.before}"
    before, after = (json.dumps(side, ensure_ascii=False) for side in (change.before, change.after))
    if change.change == "added":
        return f"{sign} {change.path}  {after}"
    if change.change == "removed":
        return f"{sign} {change.path}  {before}"
    return f"{sign} {change.path}  {before} -> {after}"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace schema diff orders-value 1 2")(diff)
