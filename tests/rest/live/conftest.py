"""The proxy of version 3's tests serves these as well."""

from __future__ import annotations

from tests.rest.v3.conftest import cluster, new_topic, proxy, topic

__all__ = ["cluster", "new_topic", "proxy", "topic"]
