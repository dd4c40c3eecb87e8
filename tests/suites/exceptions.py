"""Tests that pass against Apache Kafka and need not pass here yet, each with its reason.

An exception is a promise not yet made: the reason names the feature. A test that fails for any
other reason is a bug and has no place here.
"""

from __future__ import annotations

from collections.abc import Mapping

ACLS = "needs an authorizer: ACLs are not served"
SCRAM = "SASL/SCRAM credentials are not served"
QUORUM = "KIP-836 describes the KRaft quorum; this cluster's state is not kept by one"

# All of 0081 but its ACL parts passes: `SUBTESTS=Groups` and the like show it.
_LIBRDKAFKA: Mapping[str, str] = {
    "0081_admin": ACLS,
    "0109_auto_create_topics": ACLS,
    "0115_producer_auth": ACLS,
    "0119_consumer_auth": ACLS,
}

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "librdkafka": _LIBRDKAFKA,
    "kafka-python": {
        "test_admin::test_create_describe_delete_acls": ACLS,
        "test_admin::test_describe_metadata_quorum": QUORUM,
    },
    "java": {
        "acls": ACLS,
        "client-compatibility": ACLS,
        "configs-scram": SCRAM,
        "metadata-quorum": QUORUM,
    },
}
