"""From a frame to its handler and back: header, version check, decode, handle, encode.

See `handler` for what a handler is, and `headrace.broker.handlers` for the list.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from headrace.broker.net.call import LATER, Call, Later, unanswered
from headrace.broker.net.handler import SMALL_BYTES, AnyHandler, Bound, Working
from headrace.broker.net.portions import PORTION_ITEMS
from headrace.broker.net.quotas import timed
from headrace.broker.watching import logs
from headrace.errors import Error, HeadraceError, InvariantViolated
from headrace.wire import decoder
from headrace.wire.header import decode_request_header, encode_response, peek
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.wire.schema import Decoder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from headrace.broker.net.connection import Connection
    from headrace.broker.net.large_requests import LargeRequests
    from headrace.broker.net.quotas import Quotas
    from headrace.broker.net.reporter import ApiTally, Reporter

    _Known = tuple[Bound, Decoder, ApiTally]

_API_VERSIONS: Final = 18


def _note_answered(call: Call, response: object) -> None:
    """A watched call was answered at once."""
    assert call.watch is not None
    call.watch.on_answer(call, response)
    call.handled_ns = call.answered_ns


def _note_handled(call: Call, *, is_over: bool) -> None:
    """The handler of a watched call has returned, and the answer comes later or never (acks=0)."""
    call.handled_ns = perf_counter_ns()
    if is_over and call.watch is not None:
        call.answered_ns = call.queued_ns = call.handled_ns
        call.watch.on_sent(call, call.handled_ns)


class Dispatcher:
    """Finds the handler of each frame; one object serves every connection of a broker."""

    def __init__(
        self, handlers: Iterable[Bound], quotas: Quotas, reporter: Reporter, large: LargeRequests
    ) -> None:
        self._handlers: dict[int, Bound] = {}
        for bound in handlers:
            key = bound.handler.key
            if key in self._handlers:
                raise InvariantViolated(f"two handlers for API key {key}")
            self._handlers[key] = bound
        self._quotas = quotas
        self._reporter = reporter
        self._large = large
        self._known: dict[tuple[int, int], _Known] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def background(self) -> int:
        """How many requests are being worked on in the background."""
        return len(self._tasks)

    def on_frame(self, connection: Connection, frame: bytes | bytearray) -> None:
        """Dispatch one request; whatever is wrong with it is told to its sender alone."""
        key, version, correlation_id = peek(frame, 0)
        known = self._known.get((key, version))
        if known is None:
            known = self._look_up(connection, key, version, correlation_id)
            if known is None:
                return
        bound, decode, tally = known
        handler = bound.handler
        tally.requests += 1
        size = len(frame)
        tally.bytes_in += size + 4
        watch = tally.watch
        if watch is not None:
            if tally.requests & watch.mask:
                watch = None  # others of its kind are timed
            else:
                began_ns = perf_counter_ns()
        is_plain = watch is None and not self._quotas.active
        if is_plain and connection.repeats.known and connection.repeat(frame, correlation_id):
            return
        if size > handler.inline_bytes:
            self._work_on_large(frame, Call(connection, version, correlation_id, None), known)
            return
        header, position = decode_request_header(frame, 0, handler.request)
        request, _ = decode(frame, position, memoryview(frame))
        call = Call(connection, version, correlation_id, header.client_id)
        portions = handler.portions
        if size > SMALL_BYTES and portions and portions.weight(request) > PORTION_ITEMS:
            self._work_on_large(frame, call, known, request)
            return
        if watch is not None:
            call.watch = watch
            call.received_ns = connection.received_ns or began_ns
            call.began_ns = began_ns
        account = None
        if self._quotas.active:
            account = self._quotas.open_account(call, key, size)
        try:
            answer = bound.handle(request, call)
        except HeadraceError as fault:
            # Handlers answer their own errors; what comes here has no field to be told in.
            connection.refuse(f"{handler.name} v{version} from {header.client_id}: {fault}")
            return
        if account is not None:
            account.pause()
            if answer is None:
                account.settle(call, None)
        if answer is LATER:
            call.held_bytes = size if handler.keeps_request else 0
            connection.expect(call)
        elif type(answer) is types.CoroutineType:
            call.held_bytes = size
            if handler.unanswered is not None and handler.unanswered(request):
                call.on_abandoned = unanswered
            connection.expect(call)
            self._work(answer, call, handler)
        elif answer is not None:
            if account is not None:
                account.settle(call, answer)
            chunks = encode_response(correlation_id, version, answer)
            if watch is not None:
                _note_answered(call, answer)
            connection.answer_now(chunks, call)
            return
        if watch is not None:
            _note_handled(call, is_over=answer is None)

    def _work_on_large(
        self,
        frame: bytes | bytearray,
        call: Call,
        known: _Known,
        request: DataclassInstance | None = None,
    ) -> None:
        """Decode a request, unless it is decoded, and answer it, without holding up others."""
        bound, decode, _ = known
        handler = bound.handler
        large = self._large

        async def work() -> Later:
            task = asyncio.current_task()
            assert task is not None
            call.on_abandoned = task.cancel
            asked = request
            if asked is None:
                connection = call.connection
                call.client_id, asked = await large.decode(connection, handler, decode, frame)
            account = None
            if self._quotas.active:
                account = self._quotas.open_account(call, handler.key, len(frame))
                account.pause()
            answering = large.answer(bound, asked, call)
            response = await (answering if account is None else timed(answering, account))
            if account is not None:
                account.settle(call, response)
            chunks = [] if response is None else await large.encode(call, response)
            call.connection.answer_later(call, chunks)
            return LATER

        large.expect(call)
        self._work(work(), call, handler)

    def _work(self, answer: Working[object], call: Call, handler: AnyHandler) -> None:
        async def finish() -> None:
            try:
                account = call.account
                response = await (answer if account is None else timed(answer, account))
                if response is not LATER:
                    call.reply(response)
            except HeadraceError as fault:
                call.connection.refuse(f"{handler.name} v{call.version}: {fault}")
            except Exception:
                logs.SERVER.exception("%s v%d failed", handler.name, call.version)
                call.connection.abort()

        task = asyncio.get_running_loop().create_task(finish())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look_up(
        self, connection: Connection, key: int, version: int, correlation_id: int
    ) -> _Known | None:
        """Who serves this version of an API; None if nobody does, which the client is told."""
        bound = self._handlers.get(key)
        if bound is None:
            connection.refuse(f"API key {key} is not served")
            return None
        handler = bound.handler
        lowest, highest = handler.versions
        if not lowest <= version <= highest:
            self._refuse_version(connection, handler, version, correlation_id)
            return None
        tally = self._reporter.tally(key, handler.name, version)
        known = self._known[key, version] = (bound, decoder(handler.request, version), tally)
        return known

    def _refuse_version(
        self, connection: Connection, handler: AnyHandler, version: int, correlation_id: int
    ) -> None:
        if handler.key != _API_VERSIONS:
            lowest, highest = handler.versions
            connection.refuse(
                f"{handler.name} v{version} is not served; this broker has v{lowest}-v{highest}"
            )
            return
        # KIP-511: any client that is newer than us gets the oldest layout and tries again.
        response = ApiVersionsResponse(
            error_code=Error.UNSUPPORTED_VERSION,
            api_keys=[
                ApiVersion(
                    api_key=handler.key,
                    min_version=handler.versions[0],
                    max_version=handler.versions[1],
                )
            ],
        )
        connection.answer_now(
            encode_response(correlation_id, 0, response),
            Call(connection, 0, correlation_id, None),
        )

    async def drain(self) -> None:
        """Wait until background requests are answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)
