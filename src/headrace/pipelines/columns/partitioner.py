"""Which partition a row belongs to, as Kafka's own producers decide it, and rows sorted by it.

A key goes where the Java client would send it, so that rows written by Spark meet those of other
producers. A row without a key may go anywhere: where, is the sink's business.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.pipelines.columns.binary_fields import binary_fields, plain_binary


def murmur2_partitions(keys: pa.Array, partition_count: int) -> NDArray[np.int32]:
    """The partition of each key; -1 where the key is null."""
    if partition_count < 1:
        raise ValueError(f"a topic has one partition at least, not {partition_count}")
    from headrace.pipelines.columns.kernels import hash_partitions

    column = plain_binary(keys, "key")
    out = np.empty(len(column), np.int32)
    hash_partitions(binary_fields(column), partition_count, out)
    return out


def rows_by_partition(
    partitions: NDArray[np.int32], partition_count: int
) -> list[tuple[int, NDArray[np.int64]]]:
    """For each partition that has rows, their indexes in the order in which they stand."""
    if len(partitions) == 0:
        return []
    if partitions.min() < 0 or partitions.max() >= partition_count:
        raise ValueError(
            f"rows go to partitions {partitions.min()} to {partitions.max()}, "
            f"but there are 0 to {partition_count - 1}"
        )
    # numpy sorts 16-bit numbers by counting them, and compares wider ones.
    narrow = partitions.astype(np.int16) if partition_count <= 2**15 else partitions
    order = np.argsort(narrow, kind="stable")
    counts = np.bincount(partitions)
    groups = np.split(order, np.cumsum(counts)[:-1])
    return [(partition, group) for partition, group in enumerate(groups) if len(group)]
