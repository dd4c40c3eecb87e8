"""Users of the proxy: roles, their own consumers, and wrong passwords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.rest.service import Service, embedded, error_of
from tests.rest.test_guard import basic

JSON = embedded("json")
ROB, DAN, ANN = basic("rob", "r"), basic("dan", "d"), basic("ann", "a")
RECORDS = {"records": [{"value": 1}]}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rest") / "users"
    file.write_text("rob: plain:r, read-only\ndan: plain:d, developer\nann: plain:a, admin\n")
    return file


@pytest.fixture(scope="module")
def secured(start_proxy: Callable[..., Service], users: Path) -> Iterator[Service]:
    properties = {"authentication.method": "BASIC", "authentication.users.file": users}
    with start_proxy(properties) as service:
        yield service


def test_producing_takes_a_developer(secured: Service, proxy: Service, topic: str) -> None:
    """In every version; who only reads hears which role it takes."""
    cluster = secured.get("/v3/clusters", headers=ROB).json["data"][0]["cluster_id"]
    v3 = f"/v3/clusters/{cluster}/topics/{topic}"
    one = {"value": {"type": "JSON", "data": 1}}
    requests = [
        (f"/topics/{topic}", RECORDS, JSON),
        (f"/topics/{topic}/partitions/0", RECORDS, JSON),
        (f"{v3}/records", one, "application/json"),
        (f"{v3}/records:batch", {"entries": [{"id": "a", **one}]}, "application/json"),
    ]
    for path, body, kind in requests:
        refused = secured.post(path, body, content_type=kind, headers=ROB)
        status, code, message = error_of(refused)
        assert (status, code) == (403, 40301), path
        assert "the role developer" in message
    assert proxy.get(f"/topics/{topic}/partitions/0/offsets").json["end_offset"] == 0
    for user in (DAN, ANN):
        for path, body, kind in requests:
            sent = secured.post(path, body, content_type=kind, headers=user)
            assert sent.status in (200, 207), path


def test_changing_the_cluster_takes_an_administrator(secured: Service, topic: str) -> None:
    """Topics, settings, ACLs; everybody may look at them."""
    cluster = secured.get("/v3/clusters", headers=ROB).json["data"][0]["cluster_id"]
    root = f"/v3/clusters/{cluster}"
    setting = f"{root}/topics/{topic}/configs/retention.ms"
    changes = [
        ("POST", f"{root}/topics", {"topic_name": f"{topic}-new"}),
        ("PATCH", f"{root}/topics/{topic}", {"partitions_count": 2}),
        ("PUT", setting, {"value": "1000"}),
        ("DELETE", setting, None),
        ("POST", f"{root}/acls", {}),
        ("DELETE", f"{root}/acls", None),
        ("DELETE", f"{root}/topics/{topic}", None),
    ]
    for method, path, body in changes:
        for user in (ROB, DAN):
            reply = secured.request(
                method, path, body, content_type="application/json", headers=user
            )
            assert error_of(reply)[:2] == (403, 40301), (method, path)
    for user in (ROB, DAN, ANN):
        assert secured.get(setting, headers=user).status == 200
    for method, path, body in changes[:4]:
        done = secured.request(method, path, body, content_type="application/json", headers=ANN)
        assert done.status < 300, (method, path, done.text)


def test_a_consumer_belongs_to_its_user(secured: Service, topic: str, fresh_name: str) -> None:
    """Others do not find it, whatever their role; a name is theirs to use again."""
    secured.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=DAN)
    options = {"name": "one", "format": "json", "auto.offset.reset": "earliest"}
    base = f"/consumers/{fresh_name}/instances/one"
    assert secured.post(f"/consumers/{fresh_name}", options, headers=ROB).status == 200
    place = {"partitions": [{"topic": topic, "partition": 0}]}
    assert secured.post(f"{base}/assignments", place, headers=ROB).status == 204
    for user in (DAN, ANN):
        for reply in (
            secured.delete(base, headers=user),
            secured.get(f"{base}/records", accept=JSON, headers=user),
            secured.get(f"{base}/subscription", headers=user),
            secured.post(f"{base}/offsets", headers=user),
            secured.post(f"{base}/positions/end", place, headers=user),
        ):
            assert error_of(reply) == (404, 40403, "Consumer instance not found.")
    assert secured.post(f"/consumers/{fresh_name}", options, headers=DAN).status == 200
    assert secured.get(f"{base}/subscription", headers=DAN).json == {"topics": []}
    assert secured.delete(base, headers=DAN).status == 204
    values: list[int] = []
    while not values:
        read = secured.get(f"{base}/records?timeout=1000", accept=JSON, headers=ROB)
        values = [record["value"] for record in read.json]
    assert values == [1]
    assert (
        secured.post(f"/consumers/{fresh_name}", options, headers=ROB).json["error_code"] == 40902
    )
    assert secured.delete(base, headers=ROB).status == 204


def test_who_only_reads_joins_groups_and_commits(
    secured: Service, topic: str, fresh_name: str
) -> None:
    """As READ on a group allows in Kafka; the guide's table of roles says so."""
    secured.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=DAN)
    options = {"name": "one", "format": "json", "auto.offset.reset": "earliest"}
    base = f"/consumers/{fresh_name}/instances/one"
    assert secured.post(f"/consumers/{fresh_name}", options, headers=ROB).status == 200
    joined = secured.post(f"{base}/subscription", {"topics": [topic]}, headers=ROB)
    assert joined.status == 204
    place = {"offsets": [{"topic": topic, "partition": 0, "offset": 0}]}
    assert secured.post(f"{base}/offsets", place, headers=ROB).status == 200
    asked = {"partitions": [{"topic": topic, "partition": 0}]}
    found = secured.request("GET", f"{base}/offsets", asked, headers=ROB).json["offsets"]
    assert [each["offset"] for each in found] == [1]
    assert secured.delete(base, headers=ROB).status == 204


def test_users_of_several_proxies(
    start_proxy: Callable[..., Service], secured: Service, users: Path, fresh_name: str
) -> None:
    """The user travels with a request that is passed on; so does the question for a name."""
    properties = {
        "authentication.method": "BASIC",
        "authentication.users.file": users,
        "peers": secured.url,
    }
    base = f"/consumers/{fresh_name}/instances/one"
    with start_proxy(properties) as other:
        assert other.post(f"/consumers/{fresh_name}", {"name": "two"}, headers=ROB).status == 200
        assert secured.post(f"/consumers/{fresh_name}", {"name": "one"}, headers=ROB).status == 200
        taken = other.post(f"/consumers/{fresh_name}", {"name": "one"}, headers=ROB)
        assert error_of(taken)[:2] == (409, 40902)
        assert error_of(other.get(f"{base}/subscription", headers=DAN))[:2] == (404, 40403)
        assert other.get(f"{base}/subscription", headers=ROB).status == 200
        assert other.delete(base, headers=ROB).status == 204


def test_roles_may_be_left_out(start_proxy: Callable[..., Service], users: Path) -> None:
    """authentication.roles names those that may sign in at all."""
    properties = {
        "authentication.method": "BASIC",
        "authentication.users.file": users,
        "authentication.roles": "admin,developer",
    }
    with start_proxy(properties) as service:
        statuses = [service.get("/topics", headers=user).status for user in (ROB, DAN, ANN)]
    assert statuses == [401, 200, 200]


def test_429_for_wrong_passwords(start_proxy: Callable[..., Service], users: Path) -> None:
    """After too many for a name none is checked for a while, not even the right one.

    Other users of that address are not held up, nor who signed in before, nor a request without
    a password.
    """
    properties = {
        "authentication.method": "BASIC",
        "authentication.users.file": users,
        "authentication.failures.per.minute": 5,
    }
    with start_proxy(properties) as service:
        assert service.get("/topics", headers=ANN).status == 200
        replies = [service.get("/topics", headers=basic("nobody", "wrong")) for _ in range(10)]
        assert [reply.status for reply in replies[:5]] == [401] * 5
        refused = next(reply for reply in replies if reply.status == 429)
        assert error_of(refused)[:2] == (429, 42901)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        statuses = set()
        for _ in range(20):
            # One permit comes back every twelve seconds, and a wrong password takes it again.
            statuses.add(service.get("/topics", headers=basic("nobody", "wrong")).status)
            statuses.add(service.get("/topics", headers=ANN).status)
            assert service.get("/topics").status == 401
        assert {200, 429} <= statuses <= {200, 401, 429}
        for user in (ANN, DAN):
            assert service.get("/topics", headers=user).status == 200
