"""Circular information flow: transactions each of which saw what the other sent (G1c).

Only write-read edges count. Kafka does not isolate writes, so cycles through the order of
writes are legal and would hide the ones that are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.chaos.history.finding import Anomaly, Finding
from tests.chaos.history.index import Index
from tests.chaos.history.operation import Operation

Graph = dict[int, set[int]]


def circular_flows(index: Index) -> Iterator[Finding]:
    """One finding per group of operations that all depend on each other."""
    number = {id(operation): at for at, operation in enumerate(index.history)}
    graph: Graph = {}
    flow: dict[tuple[int, int], tuple[str, str]] = {}
    for place, readers in index.readers.items():
        sender = index.sender.get(place)
        if sender is None or not sender.polled:
            continue
        for reader in readers:
            if reader is not sender and reader.sent:
                edge = number[id(sender)], number[id(reader)]
                graph.setdefault(edge[0], set()).add(edge[1])
                flow[edge] = place
    for group in strongly_connected(graph):
        members = [index.history[at] for at in sorted(group)]
        inside = [place for edge, place in flow.items() if set(edge) <= group]
        yield Finding(Anomaly.CIRCULAR_FLOW, inside[0][0], _tell(members, inside))


def _tell(members: list[Operation], flows: list[tuple[str, str]]) -> str:
    names = ", ".join(operation.process for operation in members)
    values = ", ".join(value for _, value in flows[:4])
    return f"operations of {names} polled each other's records: {values}"


def strongly_connected(graph: Graph) -> list[set[int]]:
    """Groups of at least two nodes that all reach each other (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    groups: list[set[int]] = []
    for root in graph:
        if root in order:
            continue
        path = [(root, iter(graph[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        waiting.add(root)
        while path:
            node, edges = path[-1]
            for target in edges:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    waiting.add(target)
                    path.append((target, iter(graph.get(target, ()))))
                    break
                if target in waiting:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    group: set[int] = set()
                    while node not in group:
                        group.add(stack.pop())
                    waiting -= group
                    if len(group) > 1:
                        groups.append(group)
    return groups
