"""Random numbers in streams: each purpose draws from its own, so that a change shifts only one.

If a fault is left out of a world, what the network does to some other connection, or what a client
writes next, stays as it was. That is what lets a failing seed be made shorter.
"""

from __future__ import annotations

from random import Random


class RandomStreams:
    """Random numbers of one seed, by purpose.

    >>> streams = RandomStreams(seed=1)
    >>> streams.of("network", "b1") is streams.of("network", "b1")
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}

    def of(self, *purpose: object) -> Random:
        """The stream of a purpose; the same one whenever it is asked for."""
        name = "/".join(map(str, purpose))
        stream = self._streams.get(name)
        if stream is None:
            # A text, unlike a tuple, seeds the same numbers whatever the hash seed is.
            stream = self._streams[name] = Random(f"{self._seed}/{name}")
        return stream
