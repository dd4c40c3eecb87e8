"""`headrace quota`: limit what users, client ids and addresses may use of each broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from headrace.cli.failures import Failure, WrongUsage, did_you_mean
from headrace.cli.options import MADE, OutputOption, TargetOptions, parse_pairs
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import Made, argument, option

if TYPE_CHECKING:
    from headrace.admin.client import Admin
    from headrace.admin.quotas import Entity

app = typer.Typer(help="Limit what users, client ids and addresses may use of each broker.")

DEFAULT: Final = "<default>"
KEYS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
_COLUMNS: Final = ("user", "client_id", "ip", "quota", "value")

User = Annotated[str | None, option("--user USER", "The user name.")]
ClientId = Annotated[str | None, option("--client-id --client ID", "The client id.")]
Ip = Annotated[str | None, option("--ip ADDRESS", "The IP address.")]
UserDefaults = Annotated[bool, option("--user-defaults", "Users without a quota of their own.")]
ClientDefaults = Annotated[
    bool, option("--client-defaults", "Client ids without a quota of their own.")
]
IpDefaults = Annotated[bool, option("--ip-defaults", "Addresses without a quota of their own.")]


def _entity(
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    user_defaults: UserDefaults = False,
    client_defaults: ClientDefaults = False,
    ip_defaults: IpDefaults = False,
) -> dict[str, str | None]:
    """Whom the options mean: types and names, None for a default."""
    names = {"user": user, "client-id": client_id, "ip": ip}
    defaults = {"user": user_defaults, "client-id": client_defaults, "ip": ip_defaults}
    for kind, name in names.items():
        if name is not None and defaults[kind]:
            raise WrongUsage(f"--{kind} and the default of it are both given", "give one of them")
        if name == "":
            raise WrongUsage(f"--{kind} is empty", "name one, or ask for the defaults")
    return {kind: name for kind, name in names.items() if name is not None or defaults[kind]}


def _require_named(entity: Entity) -> None:
    if not entity:
        raise WrongUsage(
            "no user, client id or address is named",
            "write --user, --client-id or --ip, or their defaults",
        )
    if "ip" in entity and len(entity) > 1:
        raise WrongUsage("an address has quotas of its own", "leave out --user and --client-id")


EntityOptions = Annotated[dict[str, str | None], Made(_entity)]


class Quota(NamedTuple):
    """One limit of one entity; None in `entity` is the default of its type."""

    entity: Entity
    key: str
    value: float


@app.command("list", epilog="Example: headrace quota list --user alice")
def list_quotas(
    entity: EntityOptions = MADE,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show quotas: all of them, or those that name this user, client id or address."""
    from headrace.cli.asking import connect

    with connect(target) as admin:
        _emit(_find(admin, entity, exactly=False), output)


@app.command(
    "set", epilog="Example: headrace quota set --client-id etl consumer_byte_rate=10485760"
)
def set_quotas(
    pairs: Annotated[list[str], argument("KEY=VALUE…")],
    entity: EntityOptions = MADE,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set quotas; they apply at once, on every broker.

    producer_byte_rate and consumer_byte_rate are bytes per second, request_percentage is time of
    the broker's thread, controller_mutation_rate is partitions created or deleted per second; an
    address has connection_creation_rate, new connections per second.
    """
    from headrace.admin.quotas import change_quotas
    from headrace.cli.asking import connect

    _require_named(entity)
    values = {key: _number(key, text) for key, text in parse_pairs(pairs, "quota").items()}
    with connect(target) as admin:
        change_quotas(admin, entity, values)
    _emit([Quota(entity, key, value) for key, value in values.items()], output)


@app.command(epilog="Example: headrace quota delete --user alice producer_byte_rate")
def delete(
    keys: Annotated[
        list[str] | None, argument("[KEY…]", "The quotas to delete. Default: all.")
    ] = None,
    entity: EntityOptions = MADE,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove quotas of exactly this user, client id or address; less specific ones apply then."""
    from headrace.admin.quotas import change_quotas
    from headrace.cli.asking import connect

    _require_named(entity)
    for key in keys or ():
        _check_key(key)
    with connect(target) as admin:
        quotas = _find(admin, entity, exactly=True)
        found = [each for each in quotas if not keys or each.key in keys]
        if not found:
            raise Failure(f"{_told(entity)} has no such quota", 'see "headrace quota list"')
        change_quotas(admin, entity, {each.key: None for each in found})
    _emit(found, output)


def _find(admin: Admin, entity: Entity, *, exactly: bool) -> list[Quota]:
    from headrace.admin.quotas import Named, read_quotas

    wanted = {kind: Named(name) for kind, name in entity.items()}
    return [
        Quota(found, key, value)
        for found, values in read_quotas(admin, wanted, exactly=exactly)
        for key, value in values.items()
    ]


def _check_key(key: str) -> None:
    if key not in KEYS:
        hint = did_you_mean(key, KEYS) or f"there are {', '.join(KEYS)}"
        raise WrongUsage(f'there is no quota "{key}"', hint)


def _number(key: str, text: str) -> float:
    _check_key(key)
    try:
        return float(text)
    except ValueError:
        raise WrongUsage(f'{key} "{text}" is not a number', f"write {key}=1048576") from None


def _emit(quotas: Sequence[Quota], output: Output) -> None:
    rows = [
        {
            "user": _shown(each.entity, "user"),
            "client_id": _shown(each.entity, "client-id"),
            "ip": _shown(each.entity, "ip"),
            "quota": each.key,
            "value": int(each.value) if each.value.is_integer() else each.value,
        }
        for each in quotas
    ]
    emit_rows(rows, output, _COLUMNS)


def _shown(entity: Mapping[str, str | None], kind: str) -> str | None:
    if kind not in entity:
        return None
    name = entity[kind]
    return DEFAULT if name is None else name


def _told(entity: Mapping[str, str | None]) -> str:
    return ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in entity.items())
