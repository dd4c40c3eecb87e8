"""`kafka-features`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case


def case(words: str, **more: Any) -> Case:
    return Case("kafka-features", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("describe"),
    case("describe --node-id 1"),
    case("upgrade --feature group.version=1 --dry-run"),
    case("upgrade --feature group.version=1 --feature transaction.version=2 --dry-run"),
    case("upgrade --feature nonsense=1"),
    case("upgrade --feature group.version"),
    case("upgrade --feature group.version=many"),
    case("upgrade --feature group.version=1 --feature group.version=1"),
    case("upgrade"),
    case("downgrade --feature transaction.version=1 --dry-run"),
    case("disable --feature nonsense --dry-run"),
    case("upgrade --feature group.version=1 --release-version 4.3"),
    case("nonsense"),
    Case("kafka-features", "describe"),
    Case("kafka-features", "version-mapping"),
    Case("kafka-features", "version-mapping --release-version 4.0"),
    Case("kafka-features", "version-mapping --release-version 3.9-IV0"),
    Case("kafka-features", "version-mapping --release-version 2.0"),
    Case("kafka-features", "feature-dependencies --feature group.version=1"),
    Case(
        "kafka-features",
        "feature-dependencies --feature eligible.leader.replicas.version=1 "
        "--feature metadata.version=25",
    ),
    Case("kafka-features", "feature-dependencies --feature nonsense=1"),
    Case("kafka-features", "feature-dependencies --feature group.version=9"),
]
