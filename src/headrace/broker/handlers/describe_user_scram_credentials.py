"""DescribeUserScramCredentials, v0 (KIP-554).

Behaviour: the mechanisms and iterations of the SCRAM credentials that are in the tree beside the
quotas of a user, never the credentials themselves; RESOURCE_NOT_FOUND for a user that has none,
DUPLICATE_RESOURCE for one that is asked for twice. Kafka's tool asks this whenever it describes a
user's quotas.

Not done: changing them, and authentication with them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.client_quotas import entity_of
from headrace.cluster.config_owners import ConfigOwner, OwnerKind
from headrace.errors import Error
from headrace.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_ITERATIONS: Final = re.compile(r"(?:^|,)iterations=(\d{1,9})(?:,|$)")


def handle(
    metadata: Metadata, request: DescribeUserScramCredentialsRequest, call: Call
) -> Answer[DescribeUserScramCredentialsResponse]:
    known = {}
    for name, configs in metadata.image.configs[OwnerKind.USER].items():
        entity = entity_of(ConfigOwner(OwnerKind.USER, name))
        credentials = _credentials(configs)
        if credentials and len(entity) == 1:
            known[entity[0][1] or ""] = credentials
    asked = [each.name for each in request.users or ()]
    times = Counter(asked)
    return DescribeUserScramCredentialsResponse(
        error_code=0,
        error_message=None,
        results=[_result(user, known, times[user]) for user in dict.fromkeys(asked or known)],
    )


def _credentials(configs: Mapping[str, str]) -> list[CredentialInfo]:
    return [
        CredentialInfo(mechanism=number, iterations=int(found[1]))
        for name, number in _MECHANISMS.items()
        if (found := _ITERATIONS.search(configs.get(name, "")))
    ]


def _result(
    user: str, known: Mapping[str, list[CredentialInfo]], times: int
) -> DescribeUserScramCredentialsResult:
    error, message = Error.NONE, None
    if times > 1:
        error, message = Error.DUPLICATE_RESOURCE, f"{user} is asked for {times} times"
    elif user not in known:
        error = Error.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return DescribeUserScramCredentialsResult(
        user=user,
        error_code=error,
        error_message=message,
        credential_infos=[] if error else known[user],
    )


HANDLER = Handler(request=DescribeUserScramCredentialsRequest, handle=handle)
