"""`headrace completion`: the script that teaches a shell our words, and names from the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from headrace.admin.client import Admin

VARIABLE: Final = "_HEADRACE_COMPLETE"
_TIMEOUT_S: Final = 1.0
_PATIENCE: Final = dict.fromkeys(
    ("socket.connection.setup.timeout.ms", "request.timeout.ms", "default.api.timeout.ms"), "1000"
)


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(show_default=False)]) -> None:
    """Print the completion script of a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="headrace", complete_var=VARIABLE, shell=shell.value)
    print(script)


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: eval "$(headrace completion bash)" in ~/.bashrc')(completion)


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Topics that begin so; none when the cluster cannot be asked quickly."""
    return _ask(context, incomplete, _topics)


def complete_group(context: typer.Context, incomplete: str) -> list[str]:
    """Groups that begin so; none when the cluster cannot be asked quickly."""
    return _ask(context, incomplete, _groups)


def _ask(
    context: typer.Context, incomplete: str, names: Callable[[Admin], Iterable[str]]
) -> list[str]:
    """Within a second and without a word: whoever presses Tab wants no error message."""
    from headrace.admin.client import Admin
    from headrace.cli import profiles
    from headrace.cli.options import DEFAULT_SERVERS
    from headrace.cli.target import parse_target
    from headrace.client.settings import client_settings
    from headrace.errors import HeadraceError

    try:
        profile = profiles.choose(context.find_root().params.get("named"))
        with profiles.in_force(profile):
            servers = context.params.get("servers") or profiles.current_servers()
            target = parse_target(
                servers or DEFAULT_SERVERS, context.params.get("properties") or []
            )
        known = {**target.properties, "bootstrap.servers": target.servers}
        settings, _ = client_settings({**known, **_PATIENCE})
    except (HeadraceError, OSError):
        return []
    found: list[str] = []

    def look() -> None:
        with suppress(HeadraceError, OSError), Admin(settings) as admin:
            found.extend(sorted(name for name in names(admin) if name.startswith(incomplete)))

    # A client explains a silent server at length. Whoever presses Tab is gone by then, and so is
    # the process with this thread.
    seeker = threading.Thread(target=look, daemon=True)
    seeker.start()
    seeker.join(_TIMEOUT_S)
    return found


def _topics(admin: Admin) -> Iterable[str]:
    return (topic.name for topic in admin.topics())


def _groups(admin: Admin) -> Iterable[str]:
    from headrace.admin.groups import list_groups

    return (group.group for group in list_groups(admin))


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
