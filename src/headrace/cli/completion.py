"""`headrace completion`: the script that teaches a shell our words, topics included."""

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
