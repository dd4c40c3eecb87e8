"""Version 2 of the API: topics, partitions, brokers, produce and consumers.

`ENDPOINTS` is the contract of all of them. Version 1 shares the paths; what differs is in `v1`.
"""

from headrace.rest.v2 import brokers, consumers, positions, produce, topics

ENDPOINTS = (
    *produce.ENDPOINTS,
    *topics.ENDPOINTS,
    *brokers.ENDPOINTS,
    *consumers.ENDPOINTS,
    *positions.ENDPOINTS,
)
