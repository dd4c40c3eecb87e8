"""A Flume agent in the foreground, until SIGINT or SIGTERM."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.cli.failures import FAILED, Failure
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.lake_jobs import explained
from headrace.cli.lines import say, warn
from headrace.cli.small_files import read_properties


def serve(path: str, name: str, brokers_in_zookeeper: Callable[[str], str]) -> int:
    """Run the agent of this name; a line for each event of its life."""
    with explained():
        from headrace.pipelines.lake.flume.agent import Agent
        from headrace.pipelines.lake.flume.agent_file import read_agent
        from headrace.pipelines.lake.flume.components import Surroundings
        from headrace.runtime.clock import SystemClock

        plan = read_agent(read_properties(path, failure=Failure), name, path)
        around = Surroundings(SystemClock(), threading.Event(), say, brokers_in_zookeeper)
        agent = Agent(plan, around)
        for remark in agent.remarks:
            warn(remark)
        try:
            with stoppable():
                agent.start()
                say(f"agent {name} started: {_counted(plan)}")
                agent.ended.wait()
        except Stopped as stopped:
            agent.stop()
            say(f"agent {name} stopped")
            return FAILED if agent.fault is not None else stopped.exit_code
        agent.stop()
        return FAILED


def _counted(plan: object) -> str:
    kinds = ("sources", "channels", "sinks")
    return ", ".join(
        f"{kind} {' '.join(each.name for each in getattr(plan, kind))}" for kind in kinds
    )
