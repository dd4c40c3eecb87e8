"""The broker's end of the conversation with `cleaner_process`.

Starts the process, asks, waits for the answer without blocking the event loop, and sees to it that
the process is gone when the conversation is over. What to ask is decided in `cleaner`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Final

from headrace.log.compaction import CleanedSegment, CleanerMemory, CleaningPlan, CleaningStats

if TYPE_CHECKING:
    from headrace.broker.storage.cleaner_process import Message

_MODULE: Final = "headrace.broker.storage.cleaner_process"
_END_TIMEOUT_S: Final = 10
_MAX_REPLY_BYTES: Final = 16 << 20


class CleanerFault(Exception):
    """The process could not do what it was asked; the text says why."""


class CleanerPipe:
    """One process, from `async with` to its end."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> CleanerPipe:
        # -P: a file in the broker's working folder must not take the place of a module.
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MAX_REPLY_BYTES,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._running
        try:
            if kind is None:
                assert process.stdin is not None
                process.stdin.close()
                async with asyncio.timeout(_END_TIMEOUT_S):
                    await process.wait()
        except TimeoutError:
            pass  # It is ended below, as it is when this is cancelled.
        finally:
            if process.returncode is None:
                process.kill()
                # Nobody waits for ever for a process that the system does not let go.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_END_TIMEOUT_S):
                        await process.wait()

    async def begin(self, plan: CleaningPlan, memory: CleanerMemory, max_bytes_per_s: float) -> int:
        """Give it a log to compact; returns the offset up to which it will be clean."""
        reply = await self._ask(
            {
                "plan": plan.to_json(),
                "memory": asdict(memory),
                "max_bytes_per_s": max_bytes_per_s,
            }
        )
        end_offset: int = reply["end_offset"]
        return end_offset

    async def next(self) -> tuple[CleanedSegment | None, CleaningStats]:
        """The next new segment, or None, and what was done so far."""
        reply = await self._ask({"next": True})
        cleaned = reply["cleaned"]
        stats = CleaningStats(**reply["stats"])
        return None if cleaned is None else CleanedSegment(**cleaned), stats

    async def _ask(self, request: Message) -> Message:
        """OSError if a disk has failed; CleanerFault for everything else that went wrong."""
        process = self._running
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except ConnectionError:
            pass  # It has ended, which an empty line says as well.
        if not line:
            raise CleanerFault(f"the cleaner's process ended with {await process.wait()}")
        reply: Message = json.loads(line)
        if reply.get("fault") == "OSError":
            raise OSError(reply["errno"], reply["message"])
        if "fault" in reply:
            raise CleanerFault(reply["message"])
        return reply

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "the conversation has not begun"
        return self._process
