"""`headrace profile`: clusters by name, so that nobody types addresses and passwords twice."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from headrace.cli import profiles
from headrace.cli.completion import VARIABLE
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import NONE_GIVEN, SERVER_FLAGS, OutputOption, Properties
from headrace.cli.output import Output, emit, emit_rows
from headrace.cli.parameters import argument, option
from headrace.cli.profiles import REGISTRY, SERVERS, Profile
from headrace.cli.target import parse_target

app = typer.Typer(
    help="Save clusters by name: addresses, security, registry.",
    epilog="Example: headrace profile create prod -b broker1:9093 -X @client.properties --use",
    rich_markup_mode=None,
)
_FLAG: Final = "--profile"
# Options that a profile fills in, and the variables that fill them in otherwise.
_SERVERS_OPTION: Final = ("servers", "HEADRACE_BOOTSTRAP_SERVERS")
_REGISTRY_OPTION: Final = ("registry", "SCHEMA_REGISTRY_URL")
_HIDDEN: Final = "********"
_SECRET: Final = ("password", "secret", "jaas.config", "user.info", "token", "key.pem")


def complete_profile(incomplete: str) -> list[str]:
    """Profiles that begin so; none when their file cannot be read."""
    try:
        return sorted(name for name in profiles.read().by_name if name.startswith(incomplete))
    except Failure:
        return []


Name = Annotated[str, argument("NAME", autocompletion=complete_profile)]


@app.command(epilog="Example: headrace profile create prod -b broker1:9093 -X @client.properties")
def create(
    name: Annotated[str, argument("NAME")],
    servers: Annotated[
        str, typer.Option(*SERVER_FLAGS, metavar="HOST:PORT,…", help="Its brokers.")
    ],
    properties: Properties = NONE_GIVEN,
    registry: Annotated[str | None, option("--registry -r URL,…", "Its schema registry.")] = None,
    use: Annotated[bool, option("--use", "Use it from now on.")] = False,
    force: Annotated[bool, option("--force", "Replace an existing profile of this name.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Save a cluster under a name; -X @FILE keeps passwords out of the shell's history."""
    if not name.strip() or not name.isprintable():
        raise WrongUsage(
            f"{name!r} is not a valid profile name", "give one with printable characters"
        )
    target = parse_target(servers, properties)
    found = profiles.read()
    if name in found.by_name and not force:
        raise Failure(f'there is a profile "{name}" already', "replace it with --force")
    settings = {SERVERS: target.servers, **target.properties, **target.registry_properties}
    if registry:
        settings[REGISTRY] = registry
    found.by_name[name] = Profile(name, settings)
    if use or found.current is None:
        found.current = name
    profiles.write(found)
    in_use = found.current == name
    text = f'profile "{name}" is saved{" and in use" if in_use else ""}\n'
    emit({"profile": name, "in_use": in_use}, output, lambda: text)


@app.command(epilog="Example: headrace profile use prod")
def use(
    name: Annotated[str | None, argument("NAME", autocompletion=complete_profile)] = None,
    none: Annotated[bool, option("--none", "Use no profile.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Use a profile from now on, unless --profile or HEADRACE_PROFILE names another."""
    if (name is None) != none:
        raise WrongUsage("no profile is named", "give NAME, or --none")
    found = profiles.read()
    if name is not None:
        found.find(name)
    found.current = name
    profiles.write(found)
    text = "no profile is in use\n" if name is None else f'profile "{name}" is in use\n'
    emit({"profile": name, "in_use": name is not None}, output, lambda: text)


@app.command("list", epilog="Example: headrace profile list --output json")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List profiles and which one is in use."""
    found = profiles.read()
    rows = [
        {
            "name": each.name,
            "in_use": each.name == found.current,
            "bootstrap_servers": each.servers,
            "security": each.settings.get("security.protocol", "PLAINTEXT"),
            "registry": each.registry,
        }
        for each in sorted(found.by_name.values(), key=lambda profile: profile.name)
    ]
    if not rows and output is Output.TABLE:
        print("no profiles; make one with headrace profile create NAME -b HOST:PORT")
        return
    emit_rows(rows, output, ["name", "in_use", "bootstrap_servers", "security", "registry"])


@app.command(epilog="Example: headrace profile show prod")
def show(
    name: Annotated[
        str | None, argument("NAME", "Default: the one in use.", autocompletion=complete_profile)
    ] = None,
    secrets: Annotated[bool, option("--secrets", "Show passwords.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the settings of a profile."""
    found = profiles.read()
    wanted = name or found.current
    if wanted is None:
        raise Failure("no profile is in use", "name one, or see headrace profile list")
    settings = found.find(wanted).settings
    shown = dict(settings) if secrets else _masked(settings)
    emit(shown, output, lambda: "".join(f"{key}={shown[key]}\n" for key in sorted(shown)))


@app.command(epilog="Example: headrace profile delete prod")
def delete(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Delete a profile."""
    found = profiles.read()
    found.find(name)
    del found.by_name[name]
    if found.current == name:
        found.current = None
    profiles.write(found)
    emit({"profile": name, "deleted": True}, output, lambda: f'profile "{name}" is deleted\n')


def _masked(settings: Mapping[str, str]) -> dict[str, str]:
    return {
        key: _HIDDEN if any(each in key for each in _SECRET) else value
        for key, value in settings.items()
    }


# -- for all other commands -----------------------------------------------------------------------


def take_out(words: list[str]) -> tuple[list[str], str | None]:
    """The words without `--profile NAME`, which may stand anywhere before `--`, and the name."""
    end = words.index("--") if "--" in words else len(words)
    rest, name = [], None
    given = iter(words[:end])
    for word in given:
        flag, equals, value = word.partition("=")
        if flag != _FLAG:
            rest.append(word)
            continue
        name = value if equals else next(given, None)
        if not name:
            raise WrongUsage(f"{_FLAG} needs a name", "see headrace profile list")
    return rest + words[end:], name


@contextmanager
def applied(words: list[str], named: str | None, command: Any) -> Iterator[dict[str, Any]]:
    """What the profile in force says where the command line does not, option by option.

    A profile that was named here wins over the environment; the one in use does not.
    """
    about_profiles = words[:1] == ["profile"] and named is None
    # Completion looks for the profile itself, and never complains.
    completing = VARIABLE in os.environ
    chosen = None if about_profiles or completing else profiles.choose(named)
    values = {} if chosen is None else _values(chosen)
    hidden = {
        variable: os.environ.pop(variable)
        for option, variable in (_SERVERS_OPTION, _REGISTRY_OPTION)
        if named is not None and option in values and variable in os.environ
    }
    try:
        with profiles.in_force(chosen):
            yield _defaults(command, values) if values else {}
    finally:
        os.environ.update(hidden)


def _values(profile: Profile) -> dict[str, str]:
    found = {_SERVERS_OPTION[0]: profile.servers, _REGISTRY_OPTION[0]: profile.registry}
    return {option: value for option, value in found.items() if value is not None}


def _defaults(command: Any, values: Mapping[str, str]) -> dict[str, Any]:
    """The tree of defaults as typer takes it: by command, then by option."""
    children = getattr(command, "commands", {})
    mine: dict[str, Any] = {
        each.name: values[each.name] for each in command.params if each.name in values
    }
    return mine | {name: _defaults(child, values) for name, child in children.items()}
