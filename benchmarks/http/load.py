"""Requests on kept-alive connections, each waiting for its answer before it sends the next.

    python -m benchmarks.http.load HOST PORT CONNECTIONS SECONDS < requests

Standard input has one request a line, as JSON: {"method", "path", "body", "type"}; connection after
connection takes the next of them, round and round. Prints one line of JSON: requests, seconds, and
the median and the 99th percentile of the latency in milliseconds. An answer other than 2xx ends it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle
from statistics import quantiles

import uvloop

_WARM_SHARE = 0.25


def request_bytes(host: str, request: dict[str, str]) -> bytes:
    body = request.get("body", "").encode()
    lines = [
        f"{request['method']} {request['path']} HTTP/1.1",
        f"Host: {host}",
        *([f"Content-Type: {request['type']}"] if body else []),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = await reader.readexactly(length)
    if head[9:10] != b"2":
        raise SystemExit(f"{head.decode()}{body.decode(errors='replace')}")


async def run(host: str, port: int, connections: int, seconds: float) -> dict[str, float]:
    requests = cycle([request_bytes(host, json.loads(line)) for line in sys.stdin])
    latencies: list[float] = []
    began = time.perf_counter()
    counted_from = began + seconds * _WARM_SHARE
    end = counted_from + seconds

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        while (sent := time.perf_counter()) < end:
            await ask(reader, writer, next(requests))
            if sent >= counted_from:
                latencies.append(time.perf_counter() - sent)
        writer.close()

    await asyncio.gather(*(connection() for _ in range(connections)))
    cuts = quantiles(latencies, n=100)
    return {
        "requests": len(latencies),
        "seconds": seconds,
        "p50_ms": cuts[49] * 1000,
        "p99_ms": cuts[98] * 1000,
    }


def main() -> None:
    host, port, connections, seconds = sys.argv[1:]
    print(json.dumps(uvloop.run(run(host, int(port), int(connections), float(seconds)))))


if __name__ == "__main__":
    main()
