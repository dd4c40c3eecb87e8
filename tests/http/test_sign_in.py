"""Failed logins are counted by user and address, one after the other, however they come in."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from typing import Any

from headrace.http.refusals import Refusal, refuse
from headrace.http.sign_in import SignIn
from headrace.security.basic import BasicAuthenticator
from headrace.security.users import Role, User

ANN = User("ann", "plain:secret", Role.ADMIN)
BOB = User("bob", "plain:secret", Role.READ_ONLY)


class Door:
    """The middleware in front of an application that answers 200 to whom it lets in."""

    def __init__(self, failures_per_minute: int) -> None:
        self.users: list[Any] = []
        self._sign_in = SignIn(
            self._answer,
            authenticator=BasicAuthenticator({"ann": ANN, "bob": BOB}, bytes(32)),
            realm='a "realm"',
            failures_per_minute=failures_per_minute,
            open_paths=("/open",),
            error_code=401,
            refuse=self._refuse,
        )

    async def _refuse(self, refusal: Refusal, scope: Any, receive: Any, send: Any) -> None:
        await refuse(refusal, b"", "application/json", scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        self.users.append(scope.get("user"))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def status(
        self, address: str, password: str | None, path: str = "/", *, user: str = "ann"
    ) -> int:
        headers = []
        if password is not None:
            token = base64.b64encode(f"{user}:{password}".encode())
            headers.append((b"authorization", b"Basic " + token))
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        client = (address, 50_000) if address else None
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
        await self._sign_in({**scope, "client": client}, receive, send)
        status: int = sent[0]["status"]
        return status


def test_addresses_do_not_share_their_failures() -> None:
    """IPv4 addresses are counted alone; of IPv6 a network, since one host has all of it."""

    async def story() -> None:
        door = Door(failures_per_minute=2)
        for address in ("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3", ""):
            assert [await door.status(address, "no") for _ in range(3)] == [401, 401, 429]
        assert await door.status("192.0.2.3", "no") == 429
        assert await door.status("2001:db8::1", "no") == 401
        assert await door.status("2001:db8::2", "no") == 401
        assert await door.status("2001:db8::3", "no") == 429
        assert await door.status("2001:db8:0:1::1", "no") == 401
        assert await door.status("192.0.2.1", "secret") == 429
        assert await door.status("192.0.2.9", "secret") == 200
        # What another address has proven is known from now on.
        assert await door.status("192.0.2.1", "secret") == 200
        assert await door.status("192.0.2.1", None) == 401
        assert await door.status("192.0.2.1", None, "/open") == 200
        assert door.users == [ANN, ANN, None]

    asyncio.run(story())


def test_hosts_of_a_local_network_are_counted_alone() -> None:
    """All hosts of a link share fe80::/64, and those of a site a /64 of fc00::/7."""

    async def story() -> None:
        door = Door(failures_per_minute=2)
        for address in ("fe80::1", "fe80::2", "fe80::2%eth0", "fd00::1", "fd00::2"):
            assert [await door.status(address, "no") for _ in range(3)] == [401, 401, 429]

    asyncio.run(story())


def test_a_wrong_password_holds_up_its_own_user_only() -> None:
    """Behind a proxy all clients have one address: a forgotten one must not lock out the others."""

    async def story() -> None:
        door = Door(failures_per_minute=2)
        assert [await door.status("192.0.2.1", "no") for _ in range(3)] == [401, 401, 429]
        # What is not checked is not counted, so it does not use up what the address has.
        assert {await door.status("192.0.2.1", "no") for _ in range(100)} == {429}
        assert await door.status("192.0.2.1", "secret", user="bob") == 200

    asyncio.run(story())


def test_many_names_from_one_address_are_limited_too() -> None:
    """Ten times as many as for one name; then the address waits, whatever name it tries."""

    async def story() -> None:
        door = Door(failures_per_minute=2)
        assert await door.status("192.0.2.1", "secret", user="bob") == 200
        names = [f"user-{number}" for number in range(30)]
        statuses = [await door.status("192.0.2.1", "no", user=name) for name in names]
        assert statuses == [401] * 20 + [429] * 10
        assert await door.status("192.0.2.1", "secret") == 429
        assert await door.status("192.0.2.2", "no") == 401
        assert await door.status("192.0.2.1", "secret", user="bob") == 200, "it is proven"

    asyncio.run(story())


def test_open_paths_are_open_with_a_slash_at_their_end() -> None:
    """The routes take `/open/` for `/open`; nothing else is open."""

    async def story() -> None:
        door = Door(failures_per_minute=2)
        assert await door.status("192.0.2.1", None, "/open/") == 200
        for path in ("/", "/open/x", "/opened", "//open", "/x/open/"):
            assert await door.status("192.0.2.1", None, path) == 401, path

    asyncio.run(story())


def test_many_guesses_at_once_are_counted_like_one_after_the_other() -> None:
    """Fifty at the same time get no more answers than five would."""

    async def story() -> Counter[int]:
        door = Door(failures_per_minute=5)
        guesses = [door.status("192.0.2.1", str(number)) for number in range(50)]
        return Counter(await asyncio.gather(*guesses))

    assert asyncio.run(story()) == {401: 5, 429: 45}


def test_right_passwords_are_never_limited() -> None:
    """Each takes a permit and gives it back; a hundred clients may come at once."""

    async def story() -> set[int]:
        door = Door(failures_per_minute=1)
        return set(await asyncio.gather(*(door.status("192.0.2.1", "secret") for _ in range(100))))

    assert asyncio.run(story()) == {200}
