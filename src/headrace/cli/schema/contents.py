"""`headrace schema list` and `get`: what the registry holds."""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from headrace.cli.completion import complete_subject
from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, OutputOption
from headrace.cli.output import Output, emit, emit_rows
from headrace.cli.parameters import argument, option
from headrace.cli.schema.registry import Refused, Registry, ServerOptions

AVRO = "AVRO"
"""The format of a schema whose answer names none."""


def list_schemas(
    pattern: Annotated[str, typer.Argument(help="Shell pattern, such as 'orders*'.")] = "*",
    versions: Annotated[
        bool, option("--versions", "List every version, not only the latest.")
    ] = False,
    deleted: Annotated[bool, option("--deleted", "Include soft-deleted versions.")] = False,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """List subjects with the id and format of their last version."""
    query = {"latestOnly": not versions, "deleted": deleted, "subjectPrefix": _prefix(pattern)}
    with server:
        found = list(server.pages("schemas", query=query))
    rows = [
        {
            "subject": each["subject"],
            "version": each["version"],
            "id": each["id"],
            "type": each.get("schemaType", AVRO),
            "deleted": bool(each.get("deleted", False)),
        }
        for each in found
        if fnmatch.fnmatchcase(each["subject"], pattern)
    ]
    rows.sort(key=lambda row: (row["subject"], row["version"]))
    columns = ["subject", "version", "id", "type"]
    emit_rows(rows, output, [*columns, "deleted"] if deleted else columns)


def _prefix(pattern: str) -> str | None:
    """What all matches begin with, so that the registry sends no more than is needed."""
    end = min((pattern.find(sign) for sign in "*?[" if sign in pattern), default=len(pattern))
    return pattern[:end] or None


def get(
    subject: Annotated[str | None, argument("[SUBJECT]", autocompletion=complete_subject)] = None,
    version: Annotated[str, option("--version -v N|latest", "The version.")] = "latest",
    schema_id: Annotated[int | None, option("--id ID", "By id instead of subject.")] = None,
    guid: Annotated[str | None, option("--guid GUID", "By GUID instead of subject.")] = None,
    form: Annotated[
        str | None,
        option(
            "--format FORM",
            "Another form of the text: resolved (Avro, references put in), serialized "
            "(Protobuf, a descriptor in base64).",
        ),
    ] = None,
    raw: Annotated[bool, option("--raw", "The text alone, as it is registered.")] = False,
    deleted: Annotated[bool, option("--deleted", "Also if it is soft-deleted.")] = False,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one schema: of a subject, or by its id or GUID."""
    if sum(given is not None for given in (subject, schema_id, guid)) != 1:
        raise WrongUsage("one of SUBJECT, --id and --guid is needed", "give exactly one of them")
    with server:
        query = {"format": form, "deleted": deleted or None}
        if subject is not None:
            found = get_version(server, subject, version, query)
        elif schema_id is not None:
            found = {"id": schema_id, **server.ask("GET", "schemas", "ids", schema_id, query=query)}
        else:
            found = server.ask("GET", "schemas", "guids", str(guid), query=query)
    if raw:
        sys.stdout.write(found["schema"] + "\n")
        return
    found = {**found, "schemaType": found.get("schemaType", AVRO)}
    emit(found, output, lambda: _as_text(found))


def get_version(
    server: Registry, subject: str, version: str, query: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """One version of a subject as the registry describes it."""
    try:
        answer: dict[str, Any] = server.ask(
            "GET", "subjects", subject, "versions", version, query=query
        )
    except Refused as refused:
        raise server.explain_subject(refused, subject) from None
    return answer


def _as_text(found: dict[str, Any]) -> str:
    place = (
        f"{found['subject']}: version {found['version']}, " if found.get("subject") else "schema: "
    )
    head = [f"{place}id {found.get('id', '-')}, {found['schemaType']}"]
    if found.get("guid"):
        head.append(f"guid {found['guid']}")
    head += (
        f"refers to {each['name']} = {each['subject']} version {each['version']}"
        for each in found.get("references") or ()
    )
    head += (
        f"{part} {json.dumps(found[part], ensure_ascii=False)}"
        for part in ("metadata", "ruleSet")
        if found.get(part)
    )
    return "\n".join([*head, pretty(found["schema"], found["schemaType"])]) + "\n"


def pretty(text: str, schema_type: str) -> str:
    """The text as a person reads it: JSON with a line per member, Protobuf as it is."""
    if schema_type == "PROTOBUF":
        return text.rstrip("\n")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        # A form that is not JSON, or an Avro name without quotes.
        return text


def register(app: typer.Typer) -> None:
    app.command("list", epilog="Example: headrace schema list 'orders*' --versions")(list_schemas)
    app.command(epilog="Example: headrace schema get orders-value --version 2")(get)
