"""Which instance is the primary: decided in a group, as Confluent's registries decide it.

Every instance is a member of one group and says in its metadata where it can be reached. The member
that the coordinator made the leader of the group picks the primary: the one that is it already, or
else the eligible one with the least address. All hear of it in the same generation. Formats and
names are Confluent's, so instances of both kinds can share a group.

    metadata     {"version":1,"host":…,"port":…,"master_eligibility":…,"scheme":…,"leader":…}
    assignment   {"version":1,"error":0,"master":member id,"master_identity":{…}}

The module decides who writes; it refuses to know what is written. It is safe without being exact:
two instances may both believe for a moment that they are it, and the store lets only one of them
write.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from headrace.client.membership import Assignment, GroupMember, GroupProtocol
from headrace.http.listeners import Listener
from headrace.registry.settings import RegistrySettings

_LOG: Final = logging.getLogger(__name__)

_VERSION: Final = 1
_NO_ERROR: Final = 0
_DUPLICATE_URLS: Final = 1


class Identity(msgspec.Struct, frozen=True):
    """An instance, as the others see it."""

    version: int
    host: str
    port: int
    master_eligibility: bool = True
    scheme: str = "http"
    leader: bool = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the leader of the group tells everybody."""

    version: int
    error: int
    master: str | None = None
    master_identity: Identity | None = None


def identity_of(settings: RegistrySettings, bound: Listener) -> Identity:
    """Who an instance is that listens there."""
    scheme, host, port = settings.advertised(bound)
    return Identity(
        version=_VERSION,
        host=host,
        port=port,
        master_eligibility=settings.leader_eligibility,
        scheme=scheme,
    )


def choose(members: Mapping[str, bytes], *, sticky: bool) -> Decision:
    """The primary among these members; metadata that cannot be read makes a member ineligible."""
    known = {}
    for member_id, metadata in members.items():
        try:
            known[member_id] = msgspec.json.decode(metadata, type=Identity)
        except msgspec.MsgspecError as error:
            _LOG.warning(
                "the member %s of the group says who it is in a way that cannot be read: %s",
                member_id,
                error,
            )
    urls = {identity.url for identity in known.values()}
    if len(urls) < len(known):
        _LOG.error(
            "several instances say that they are reached at the same address (of %s): set "
            "host.name and listeners so that each has its own",
            ", ".join(sorted(urls)),
        )
    code = _NO_ERROR if len(urls) == len(known) else _DUPLICATE_URLS
    eligible = {id_: known[id_] for id_ in known if known[id_].master_eligibility}
    incumbents = [id_ for id_ in eligible if sticky and eligible[id_].leader]
    candidates = incumbents if len(incumbents) == 1 else list(eligible)
    if not candidates:
        return Decision(_VERSION, code)
    chosen = min(candidates, key=lambda id_: (eligible[id_].url, id_))
    return Decision(_VERSION, code, chosen, eligible[chosen])


class Election:
    """Takes part until it is closed. `on_change` is called in the thread of the group member."""

    def __init__(
        self, settings: RegistrySettings, identity: Identity, on_change: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._identity = identity
        self._on_change = on_change
        self._lock = threading.Lock()
        self._is_primary = False
        self._primary: Identity | None = None
        self._doubted_at = 0.0
        self.generation = -1
        self._member = GroupMember(
            settings.kafka,
            GroupProtocol(
                group=settings.group_id,
                protocol_type="sr",
                protocol_name="v0",
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=settings.heartbeat_interval_ms,
            ),
            metadata=self._metadata,
            assign=self._assign,
            on_assigned=self._on_assigned,
            on_lost=self._on_lost,
        )

    def start(self) -> None:
        """Join the group."""
        self._member.start()

    def close(self) -> None:
        """Leave it, so that another instance takes over at once."""
        self._member.close()

    @property
    def is_primary(self) -> bool:
        """Whether this instance may write, as far as it can know.

        One that has not heard of the coordinator for a session, or was refused by the store since,
        waits for the next heartbeat to be sure.
        """
        heard = self._member.heard
        session_s = self._settings.session_timeout_ms / 1000
        with self._lock:
            is_fresh = heard > self._doubted_at and time.monotonic() - heard < session_s
            return self._is_primary and is_fresh

    @property
    def primary(self) -> Identity | None:
        """The primary, if it is another instance and known."""
        with self._lock:
            return None if self._is_primary else self._primary

    def doubt(self) -> None:
        """The store refused a write of this instance: the group shall confirm it first."""
        with self._lock:
            self._doubted_at = time.monotonic()

    # -- called by the group member ---------------------------------------------------------------

    def _metadata(self) -> bytes:
        leads = self._is_primary and self._settings.leader_election_sticky
        return msgspec.json.encode(msgspec.structs.replace(self._identity, leader=leads))

    def _assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        decision = choose(members, sticky=self._settings.leader_election_sticky)
        encoded = msgspec.json.encode(decision)
        return dict.fromkeys(members, encoded)

    def _on_assigned(self, assignment: Assignment) -> None:
        try:
            decision = msgspec.json.decode(assignment.data, type=Decision)
        except msgspec.MsgspecError as error:
            _LOG.error(
                "the group %s has a leader whose decision cannot be read: %s",
                self._settings.group_id,
                error,
            )
            decision = Decision(_VERSION, _NO_ERROR)
        with self._lock:
            self.generation = assignment.generation
            self._primary = decision.master_identity
            self._is_primary = decision.master == assignment.member_id
        where = decision.master_identity.url if decision.master_identity else "none"
        _LOG.info("the primary of generation %d is %s", assignment.generation, where)
        self._on_change()

    def _on_lost(self) -> None:
        with self._lock:
            self._is_primary = False
            self._primary = None
        self._on_change()
