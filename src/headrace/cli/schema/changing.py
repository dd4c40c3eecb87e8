"""`headrace schema register` and `delete`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, confirm
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option
from headrace.cli.schema.files import FileArgument, ReferenceOption, TypeOption, read_draft
from headrace.cli.schema.registry import Refused, Registry, ServerOptions, SubjectArgument

_SOFT_DELETED = (40404, 40406)


def register_schema(
    subject: SubjectArgument,
    file: FileArgument,
    schema_type: TypeOption = None,
    reference: ReferenceOption = NONE_GIVEN,
    normalize: Annotated[
        bool, option("--normalize", "Normalize the schema before it is compared and registered.")
    ] = False,
    schema_id: Annotated[
        int | None, option("--id ID", "Register with this id; needs mode IMPORT.", min=0)
    ] = None,
    version: Annotated[
        int | None, option("--version N", "Register as this version; needs mode IMPORT.", min=1)
    ] = None,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Register a schema; an existing one keeps its version and id."""
    with server:
        body = read_draft(file, schema_type, reference).as_request()
        body |= {
            key: given
            for key, given in (("id", schema_id), ("version", version))
            if given is not None
        }
        query = {"normalize": normalize}
        answer = server.ask("POST", "subjects", subject, "versions", query=query, body=body)
        if "version" not in answer:
            # Older registries answer with the id alone.
            answer = server.ask("POST", "subjects", subject, query=query, body=body)
    row = {"subject": subject, "version": answer["version"], "id": answer["id"]}
    emit_rows([row], output, ["subject", "version", "id"])


def delete(
    subject: SubjectArgument,
    version: Annotated[
        str | None, option("--version -v N|latest", "Only this version. Default: all.")
    ] = None,
    permanent: Annotated[
        bool, option("--permanent", "Hard delete: the id can no longer be read.")
    ] = False,
    yes: Annotated[bool, option("--yes -y", "Do not ask for confirmation.")] = False,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a subject or one version. Asks for confirmation on a terminal."""
    if permanent and version in ("latest", "-1"):
        raise WrongUsage(
            "what is latest changes when it is deleted", "name the version to delete for good"
        )
    what = subject if version is None else f"{subject} version {version}"
    manner = "for good" if permanent else "(it can be registered again under the same id)"
    confirm(f"Delete {what} {manner}?", yes=yes)
    with server:
        path = (
            ["subjects", subject] if version is None else ["subjects", subject, "versions", version]
        )
        try:
            answer = _delete(server, path, permanent=permanent)
        except Refused as refused:
            raise server.explain_subject(refused, subject) from None
    versions = answer if isinstance(answer, list) else [answer]
    result = "deleted for good" if permanent else "deleted"
    rows = [{"subject": subject, "version": each, "result": result} for each in versions]
    emit_rows(rows, output, ["subject", "version", "result"])


def _delete(server: Registry, path: list[str], *, permanent: bool) -> Any:
    """A permanent deletion takes two steps; the first one may be done already."""
    if not permanent:
        return server.ask("DELETE", *path)
    try:
        server.ask("DELETE", *path)
    except Refused as refused:
        if refused.error_code not in _SOFT_DELETED:
            raise
    return server.ask("DELETE", *path, query={"permanent": True})


def register(app: typer.Typer) -> None:
    app.command("register", epilog="Example: headrace schema register orders-value order.avsc")(
        register_schema
    )
    app.command(epilog="Example: headrace schema delete orders-value --version 2 --yes")(delete)
