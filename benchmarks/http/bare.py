"""The least that a Starlette application can do: one route, one prepared answer.

python -m benchmarks.http.bare PORT BYTES
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main() -> None:
    port, size = map(int, sys.argv[1:])
    answer = b"x" * size

    async def get(request: Request) -> Response:
        return Response(answer, media_type="application/json")

    app = Starlette(routes=[Route("/schemas/ids/{id}", get)])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
