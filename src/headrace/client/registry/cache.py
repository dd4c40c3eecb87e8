"""A bounded cache for several threads whose entries may grow old; refuses to know what it holds."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The `capacity` entries that were used last."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            if found[1] < time.monotonic():
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, ttl_s: float = math.inf) -> V:
        with self._lock:
            self._entries[key] = (value, time.monotonic() + ttl_s)
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        return value
