"""`headrace completion`: the script that teaches a shell our words, topics and subjects too."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

_VARIABLE: Final = "_HEADRACE_COMPLETE"
_TIMEOUT_S: Final = 1.0


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(show_default=False)]) -> None:
    """Print the completion script of a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="headrace", complete_var=_VARIABLE, shell=shell.value)
    print(script)


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: eval "$(headrace completion bash)" in ~/.bashrc')(completion)


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Topics that begin so; none when the cluster cannot be asked quickly and in plaintext."""
    from headrace.cli.options import DEFAULT_SERVERS
    from headrace.cli.target import parse_target
    from headrace.client.connection import Connection
    from headrace.errors import HeadraceError
    from headrace.wire.messages.metadata import MetadataRequest

    try:
        servers = context.params.get("servers") or DEFAULT_SERVERS
        address = parse_target(servers, []).addresses[0]
        with Connection(*address, timeout_s=_TIMEOUT_S) as connection:
            topics = connection.call(MetadataRequest(topics=None)).topics
    except HeadraceError:
        return []
    return sorted(topic.name for topic in topics if (topic.name or "").startswith(incomplete))


def complete_subject(context: typer.Context, incomplete: str) -> list[str]:
    """Subjects that begin so; none when the registry cannot be asked quickly."""
    from headrace.cli.schema.registry import DEFAULT_URL
    from headrace.client.registry import RegistryClient, registry_settings
    from headrace.errors import HeadraceError

    url = context.params.get("registry") or DEFAULT_URL
    timeout = {"request.timeout.ms": str(int(_TIMEOUT_S * 1000))}
    try:
        client = RegistryClient(registry_settings({"schema.registry.url": url, **timeout}))
        try:
            found = client.get("/subjects", {"subjectPrefix": incomplete})
        finally:
            client.close()
    except HeadraceError:
        return []
    return sorted(each for each in found if each.startswith(incomplete))
