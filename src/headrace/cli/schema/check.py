"""`headrace schema check`: may this schema follow those that are registered?

The registry decides. What it forbids is then shown rule by rule: where, what stood there before and
what stands there now, and which version does not go with it. Exit code 1 means that it may not.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli.options import MADE, NONE_GIVEN, OutputOption
from headrace.cli.output import Output, emit
from headrace.cli.parameters import option
from headrace.cli.schema.files import (
    Draft,
    FileArgument,
    ReferenceOption,
    TypeOption,
    read_draft,
)
from headrace.cli.schema.registry import Registry, ServerOptions, SubjectArgument

INCOMPATIBLE = 1


def check(
    subject: SubjectArgument,
    file: FileArgument,
    version: Annotated[
        str | None,
        option(
            "--version -v N|latest",
            "Compare with this version. Default: as the compatibility level requires.",
        ),
    ] = None,
    schema_type: TypeOption = None,
    reference: ReferenceOption = NONE_GIVEN,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> int:
    """Check a schema against a subject; exit code 1 if it is not compatible."""
    with server:
        draft = read_draft(file, schema_type, reference)
        path = ["compatibility", "subjects", subject, "versions"]
        if version is not None:
            path.append(version)
        answer = server.ask("POST", *path, query={"verbose": True}, body=draft.as_request())
        compatible = bool(answer.get("is_compatible"))
        config = server.ask("GET", "config", subject, query={"defaultToGlobal": True})
        report: dict[str, Any] = {
            "subject": subject,
            "compatible": compatible,
            "compatibility": config.get("compatibilityLevel", "BACKWARD"),
            "breaches": [],
            "messages": answer.get("messages") or [],
        }
        if not compatible:
            report["breaches"] = _explain(server, subject, draft, config, version)
    emit(report, output, lambda: _as_text(report))
    return 0 if compatible else INCOMPATIBLE


def _explain(
    server: Registry,
    subject: str,
    draft: Draft,
    config: dict[str, Any],
    version: str | None,
) -> list[dict[str, object]]:
    """The rules that are broken, version by version."""
    # Parsers of schemas are loaded only when there is something to explain.
    from headrace.cli.schema.comparing import breach_rows, breaches, parse_fetched
    from headrace.cli.schema.contents import get_version
    from headrace.schemas.model import InvalidSchema

    level = str(config.get("compatibilityLevel", "BACKWARD"))
    lenient = config.get("compatibilityPolicy") == "LENIENT"
    versions = [version or "latest"]
    if version is None and level.endswith("_TRANSITIVE"):
        versions = [str(each) for each in server.ask("GET", "subjects", subject, "versions")]
    found = []
    try:
        new = parse_fetched(server, draft.as_request())
        for each in reversed(versions):
            registered = get_version(server, subject, each)
            old = parse_fetched(server, registered)
            found += breaches(old, new, registered["version"], level=level, lenient=lenient)
    except InvalidSchema:
        # The registry has parsed them, so the fault is ours; its own sentences are shown instead.
        return []
    return breach_rows(found)


def _as_text(report: dict[str, Any]) -> str:
    verdict = "is compatible" if report["compatible"] else "is NOT compatible"
    lines = [f"{report['subject']}: the schema {verdict} ({report['compatibility']})"]
    for each in report["breaches"]:
        lines.append(f"\nversion {each['version']}: {each['rule']} at {each['path'] or '/'}")
        lines.append(f"  {each['description']}")
        lines += [f"  {side:<6} {each[side]}" for side in ("before", "after") if each[side]]
    if not report["breaches"] and not report["compatible"]:
        lines += [f"  {message}" for message in report["messages"]]
    return "\n".join(lines) + "\n"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace schema check orders-value order.avsc")(check)
