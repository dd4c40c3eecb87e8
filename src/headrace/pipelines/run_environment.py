"""What `headrace run` tells the processes of its Spark, by their environment.

They are started by the JVM and inherit from it; nothing else reaches the process that plans a
stream before its first question to a broker.
"""

from __future__ import annotations

from typing import Final

SERVERS: Final = "HEADRACE_BOOTSTRAP_SERVERS"
RUN_NAME: Final = "HEADRACE_RUN"
"""The name of the run: its queries' consumer groups begin with it."""
BROKERS_BY: Final = "HEADRACE_BROKERS_BY"
"""How the brokers were chosen, see `headrace.cli.run.brokers.Origin`."""
OWN_BROKER: Final = "HEADRACE_OWN_BROKER"
"""The address of the broker that the run has started for itself: topics that a query subscribes to
are made there, because the first to look for them cannot be later than the broker itself."""
