"""Who hands a batch to the log. The answer decides which rules the batch must obey.

A module of its own because both the log and the producer state ask it, and neither owns it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Origin(Enum):
    """The writer of a batch, from the least trusted to the most."""

    CLIENT = "client"
    """A producer: everything is checked, control batches are refused."""

    COORDINATOR = "coordinator"
    """A coordinator of this broker: it alone may write control batches."""

    REPLICATION = "replication"
    """A follower copying its leader: offsets and epochs are already assigned and must stay."""


# Asked for every batch, and Python looks a member up in its class with a function call.
CLIENT: Final = Origin.CLIENT
REPLICATION: Final = Origin.REPLICATION
