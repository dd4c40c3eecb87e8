"""Checks the services beside the brokers: does a schema registry, a REST Proxy answer there?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.lines import counted
from headrace.cli.schema.registry import addresses, open_client
from headrace.client.registry.faults import RegistryRefused, RegistryUnreachable
from headrace.client.registry.pool import NoAnswer, Pool
from headrace.errors import HeadraceError

_TIMEOUT_S: Final = 5.0
_SIGN_IN: Final = (401, 403)
_WRONG_PORT: Final = "correct the address; its port is 8081 by default"


def examine_registry(url: str, properties: Mapping[str, str]) -> Iterator[Finding]:
    """Whether a registry answers, and whether it takes schemas."""
    subject = f"schema registry {url}"
    timeout = {"request.timeout.ms": str(int(_TIMEOUT_S * 1000))}
    try:
        client = open_client(url, {**timeout, **properties})
    except HeadraceError as error:
        yield fail(subject, str(error), "correct --registry and the -X options")
        return
    subject = f"schema registry {addresses(client)}"
    try:
        status, types = client.request("GET", "/schemas/types")
        if status in _SIGN_IN:
            yield warn(
                subject,
                f"it answers {status} without signing in",
                "add -X basic.auth.user.info=USER:PASSWORD",
            )
            return
        if status != 200 or not isinstance(types, list):
            yield fail(subject, f"it answers {status}, and is not a schema registry", _WRONG_PORT)
            return
        mode = client.request("GET", "/mode")[1]
        subjects = client.request("GET", "/subjects")[1]
    except RegistryUnreachable as error:
        yield fail(subject, str(error), 'start one with "headrace up", or correct the address')
        return
    except RegistryRefused:
        yield fail(subject, "the answer is not JSON: it is not a schema registry", _WRONG_PORT)
        return
    finally:
        client.close()
    held = len(subjects) if isinstance(subjects, list) else 0
    current = mode.get("mode", "") if isinstance(mode, dict) else ""
    yield ok(subject, f"answers, with {counted(held, 'subject')}, in mode {current}")
    if current != "READWRITE":
        yield warn(
            subject,
            f"mode {current}: it registers no schemas",
            "headrace schema mode --set READWRITE",
        )


def examine_rest(url: str) -> Iterator[Finding]:
    """Whether a REST Proxy answers, and for which cluster."""
    subject = f"REST Proxy {url}"
    pool = Pool((url.rstrip("/"),), timeout_s=_TIMEOUT_S)
    try:
        reply = pool.request("GET", "/v3/clusters")
    except (NoAnswer, ValueError) as error:
        yield fail(subject, str(error), 'start one with "headrace up", or correct the address')
        return
    finally:
        pool.close()
    if reply.status in _SIGN_IN:
        yield ok(subject, f"answers {reply.status} without signing in")
        return
    found = _cluster_id(reply.body) if reply.status == 200 else None
    if found is None:
        yield fail(
            subject,
            f"it answers {reply.status}, and is not a REST Proxy",
            "correct the address; its port is 8082 by default",
        )
    else:
        yield ok(subject, f"answers, for cluster {found}")


def _cluster_id(body: bytes) -> str | None:
    try:
        answer: Any = json.loads(body)
        return str(answer["data"][0]["cluster_id"])
    except (ValueError, LookupError, TypeError):
        return None
