"""What a handler sees of the broker: its settings, its view of the cluster, its logs.

Only a holder of references, filled by `app`; behaviour lives in what it refers to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.broker.net.inspections import Inspections
from headrace.broker.telemetry.store import TelemetryStore

if TYPE_CHECKING:
    import asyncio

    from headrace.broker.groups.groups import Groups
    from headrace.broker.machine import Machine
    from headrace.broker.membership.isr import IsrKeeper
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.membership.moves import Moves
    from headrace.broker.net.connection_gate import ConnectionGate
    from headrace.broker.net.peers import Peers
    from headrace.broker.net.quotas import Quotas
    from headrace.broker.net.reporter import Reporter
    from headrace.broker.sessions import FetchSessions
    from headrace.broker.sharing.partitions import SharePartitions
    from headrace.broker.sharing.sessions import ShareSessions
    from headrace.broker.sharing.states import ShareStates
    from headrace.broker.storage.replication_throttle import ReplicationThrottle
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.markers import Markers
    from headrace.broker.transactions.producer_ids import ProducerIds
    from headrace.broker.transactions.remote import RemoteTransactions
    from headrace.broker.transactions.transactions import Transactions
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.runtime.clock import Clock


@dataclass(slots=True)
class Broker:
    """One running broker."""

    id: int
    machine: Machine
    clock: Clock
    loop: asyncio.AbstractEventLoop
    reporter: Reporter
    storage: Storage
    metadata: Metadata
    moves: Moves
    fetch_sessions: FetchSessions
    producer_ids: ProducerIds
    groups: Groups
    transactions: Transactions
    markers: Markers
    share_states: ShareStates
    share_partitions: SharePartitions
    share_sessions: ShareSessions
    quotas: Quotas
    gate: ConnectionGate
    # Only a broker that is one of several has these.
    peers: Peers | None
    isr: IsrKeeper | None
    throttle: ReplicationThrottle | None
    remote_transactions: RemoteTransactions | None
    max_fetch_bytes: int
    telemetry: TelemetryStore = field(default_factory=TelemetryStore)
    inspections: Inspections = field(default_factory=Inspections)

    @property
    def config(self) -> BrokerConfig:
        """The settings as they are now; some change while the broker runs."""
        return self.metadata.settings.config
