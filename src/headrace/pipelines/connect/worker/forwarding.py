"""What a worker asks of the leader over HTTP: to write settings of tasks, and to fence old ones."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

from headrace.client.registry.pool import NoAnswer, Pool
from headrace.client.settings import client_settings
from headrace.client.tls import tls_context
from headrace.errors import ConfigError
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.state.records import SessionKey, Settings
from headrace.pipelines.connect.worker.signing import signed

_TIMEOUT_S: Final = 90.0
_SUCCESS: Final = range(200, 300)
_SSL: Final = "ssl."
_OF_LISTENERS: Final = "listeners.https."
_NOWHERE: Final = "localhost:1"


class Forwarding:
    """For any number of threads."""

    def __init__(
        self, settings: WorkerConfig, algorithm: str, key: Callable[[], SessionKey | None]
    ) -> None:
        self._settings = settings
        self._algorithm = algorithm
        self._key = key

    def put_task_configs(self, leader_url: str, name: str, tasks: Sequence[Settings]) -> None:
        """Have the leader write the settings of a connector's tasks."""
        body = json.dumps([dict(each) for each in tasks], separators=(",", ":")).encode()
        self._ask(leader_url, "POST", f"/connectors/{quote(name, safe='')}/tasks", body)

    def fence(self, leader_url: str, name: str) -> None:
        """Have the leader fence the tasks of a source that ran with earlier settings."""
        self._ask(leader_url, "PUT", f"/connectors/{quote(name, safe='')}/fence", b"")

    def _ask(self, url: str, method: str, target: str, body: bytes) -> None:
        key = self._key()
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers |= signed(key, self._algorithm, body)
        tls = tls_between_workers(self._settings, url)
        pool = Pool([url.rstrip("/")], timeout_s=_TIMEOUT_S, tls=tls)
        try:
            reply = pool.request(method, target, body, headers)
        except NoAnswer as fault:
            raise ConnectException(f"the leader does not answer: {fault}") from fault
        finally:
            pool.close()
        if reply.status not in _SUCCESS:
            raise ConnectException(
                f"the leader at {url} answers {reply.status} to {method} {target}: "
                f"{reply.body[:500].decode(errors='replace')}"
            )


def tls_between_workers(settings: WorkerConfig, url: str) -> ssl.SSLContext | None:
    """How a worker at this address is called: with the keys and authorities that this one listens
    with; None if it has no TLS."""
    if not url.startswith("https:"):
        return None
    given = {name: text for name, text in settings.given.items() if name.startswith(_SSL)}
    given |= settings.under(_OF_LISTENERS)
    try:
        client, _ = client_settings(
            {"bootstrap.servers": _NOWHERE, "security.protocol": "SSL", **given}
        )
        return tls_context(client)
    except ConfigError as fault:
        raise ConfigException(
            f"other workers cannot be called over https, correct {_OF_LISTENERS}{_SSL}*: {fault}"
        ) from fault
