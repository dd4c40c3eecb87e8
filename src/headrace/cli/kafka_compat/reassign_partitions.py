"""`kafka-reassign-partitions`: propose, start, watch and call off moves of replicas.

Prints what Kafka 4.3 prints. A move to another disk of the same broker (`log_dirs` in the JSON) is
asked of that broker, again and again until it has the replica; see `log_dir_moves`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sized
from typing import Final

from headrace.admin import throttles
from headrace.admin.client import Admin
from headrace.admin.faults import Fault, Refused
from headrace.admin.views import BrokerView, Reassignment
from headrace.cli import replica_plans as plans
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    FAILED,
    Told,
    as_whole_number,
    bare,
    brokers_in_zookeeper,
    need,
    one_of,
    open_admin,
)
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.cli.kafka_compat.log_dir_moves import (
    describe_moves,
    folders_of,
    is_moving,
    move_states,
    start_moves,
)
from headrace.cli.kafka_compat.tool import Tool, Work
from headrace.cli.replica_plans import Assignment, BadPlan, Plan
from headrace.cli.small_files import read_text
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition

_NEEDS: Final = {
    "--generate": ("--topics-to-move-json-file", "--broker-list"),
    "--execute": ("--reassignment-json-file",),
    "--verify": ("--reassignment-json-file",),
    "--cancel": ("--reassignment-json-file",),
    "--list": (),
}
_TAKES: Final = {
    "--generate": ("--disable-rack-aware",),
    "--execute": (
        "--additional",
        "--throttle",
        "--replica-alter-log-dirs-throttle",
        "--timeout",
        "--disallow-replication-factor-change",
    ),
    "--verify": ("--preserve-throttles",),
    "--cancel": ("--preserve-throttles", "--timeout"),
    "--list": (),
}
_DEFAULT_TIMEOUT_MS: Final = 10_000
_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to "
    "override this and create a new partition assignment in addition to the existing one. The "
    "--additional flag can also be used to change the throttle by resubmitting the current "
    "reassignment."
)
_NO_BROKERS: Final = "All brokers are currently fenced, or have all their log directories cordoned."
_VERIFY: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
    "throttle is removed."
)


def _moves(given: Given) -> Work:
    action = _checked(given)

    def work() -> None:
        zookeeper = given.text("--zookeeper") or ""
        servers = given.text("--bootstrap-server") or brokers_in_zookeeper(zookeeper)
        with open_admin(servers, given.text("--command-config")) as admin:
            _WORK[action](admin, given)

    return work


def _failed(error: HeadraceError, _given: Given) -> int:
    if isinstance(error, Told):
        print(error)
    elif isinstance(error, Refused):
        print(f"Error: {java_name(error.error)}: {error}")
    else:
        print(f"Error: {bare(error)}")
    return FAILED


def _checked(given: Given) -> str:
    action = one_of(given, *_WORK)
    if not given.has("--bootstrap-server") and not given.has("--zookeeper"):
        raise Told("Please specify --bootstrap-server")
    need(given, *_NEEDS[action])
    fitting = {*flags(CONNECTING), "--zookeeper", action, *_NEEDS[action], *_TAKES[action]}
    for flag in run.flags:
        if given.has(flag) and flag not in fitting:
            raise Told(f'Option "[{flag[2:]}]" can\'t be used with action "[{action[2:]}]"')
    return action


# -- actions --------------------------------------------------------------------------------------


def _generate(admin: Admin, given: Given) -> None:
    names = plans.parse_topics(_read(given.needed("--topics-to-move-json-file")))
    wanted = _broker_ids(given.needed("--broker-list"))
    now = plans.current(admin.describe(names))
    brokers = [each for each in admin.describe_cluster().brokers if each.id in wanted]
    if not brokers:
        raise BadPlan(_NO_BROKERS)
    brokers = _with_racks(brokers, aware=not given.has("--disable-rack-aware"))
    start, shift = random.randrange(max(len(brokers), 1)), random.randrange(max(len(brokers), 1))
    proposed = plans.spread(now, brokers, start_index=start, shift=shift)
    before = plans.to_json(now, folders_of(admin, now))
    print(f"Current partition replica assignment\n{before}\n")
    print(f"Proposed partition reassignment configuration\n{plans.to_json(proposed)}")


def _execute(admin: Admin, given: Given) -> None:
    plan = _plan(given)
    plans.check(plan)
    wanted = plan.assignment
    ongoing = admin.reassignments()
    if ongoing and not given.has("--additional"):
        raise Told(_EXISTING)
    known = admin.describe_cluster().ids
    for broker in sorted({each for replicas in wanted.values() for each in replicas}):
        if broker not in known:
            raise BadPlan(f"Unknown broker id {broker}")
    now = _where_now(admin, wanted)
    print(
        "Current partition replica assignment\n\n"
        f"{plans.to_json(now, folders_of(admin, now))}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    _throttle(admin, given, plan, throttles.moves_of(ongoing, wanted, now))
    may_change_factor = not given.has("--disallow-replication-factor-change")
    faults = admin.reassign(wanted, may_change_factor=may_change_factor)
    _started(faults, "Error reassigning partition(s):")
    listed = ",".join(map(str, sorted(wanted)))
    print(f"Successfully started partition reassignment{_s(wanted)} for {listed}")
    if plan.log_dirs:
        start_moves(admin, plan.log_dirs, _timeout_ms(given))


def _throttle(admin: Admin, given: Given, plan: Plan, moves: throttles.Moves) -> None:
    rate = as_whole_number(given, "--throttle")
    log_dir_rate = as_whole_number(given, "--replica-alter-log-dirs-throttle")
    if rate is None and log_dir_rate is None:
        return
    print(_VERIFY)
    if rate is not None:
        admin.alter_settings(throttles.replicas_to_throttle(moves))
        admin.alter_settings(throttles.rates(moves, rate))
        print(f"The inter-broker throttle limit was set to {rate} B/s")
    if log_dir_rate is not None:
        brokers = {replica.broker for replica in plan.log_dirs}
        admin.alter_settings(throttles.log_dir_rates(brokers, log_dir_rate))
        print(f"The replica-alter-dir throttle limit was set to {log_dir_rate} B/s")


def _verify(admin: Admin, given: Given) -> None:
    plan = _plan(given)
    ongoing = admin.reassignments()
    print("Status of partition reassignment:")
    for line in _states(admin, plan.assignment, ongoing):
        print(line)
    states = move_states(admin, plan.log_dirs)
    print("\n".join(describe_moves(states)))
    moving = any(map(is_moving, states.values()))
    if not ongoing and not moving and not given.has("--preserve-throttles"):
        _unthrottle(admin, plan)


def _states(
    admin: Admin, wanted: Assignment, ongoing: Mapping[TopicPartition, Reassignment]
) -> list[str]:
    settled = {where for where in wanted if where not in ongoing}
    known = {topic.name for topic in admin.topics()}
    names = {where.topic for where in settled} & known
    now = plans.current(admin.describe(names))
    lines = []
    for where, replicas in sorted(wanted.items()):
        if where in ongoing:
            lines.append(f"Reassignment of partition {where} is still in progress.")
        elif now.get(where, ()) == replicas:
            lines.append(f"Reassignment of partition {where} is completed.")
        else:
            lines.append(
                f"There is no active reassignment of partition {where}, but replica set is "
                f"{_commas(now.get(where, ()))} rather than {_commas(replicas)}."
            )
    return lines


def _cancel(admin: Admin, given: Given) -> None:
    plan = _plan(given)
    active = sorted(admin.reassignments(plan.assignment.keys()))
    if active:
        faults = admin.reassign(dict.fromkeys(active))
        _started(faults, f"Error cancelling partition reassignment{_s(faults)} for:")
        listed = ",".join(map(str, active))
        print(f"Successfully cancelled partition reassignment{_s(active)} for: {listed}")
    else:
        print("None of the specified partition reassignments are active.")
    states = move_states(admin, plan.log_dirs)
    moving = {replica: state.current or "" for replica, state in states.items() if is_moving(state)}
    if moving:
        start_moves(admin, moving, _timeout_ms(given))
    else:
        print("None of the specified partition moves are active.")
    if not given.has("--preserve-throttles"):
        _unthrottle(admin, plan)


def _list(admin: Admin, given: Given) -> None:
    ongoing = admin.reassignments()
    if not ongoing:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for where, each in sorted(ongoing.items()):
        line = f"{where}: replicas: {_commas(each.replicas)}."
        if each.adding:
            line += f" adding: {_commas(each.adding)}."
        if each.removing:
            line += f" removing: {_commas(each.removing)}."
        print(line)


_WORK: Final = {
    "--generate": _generate,
    "--execute": _execute,
    "--verify": _verify,
    "--cancel": _cancel,
    "--list": _list,
}


# -- parts of them --------------------------------------------------------------------------------


def _unthrottle(admin: Admin, plan: Plan) -> None:
    """Every broker's, since nobody remembers who sent."""
    live = admin.describe_cluster().ids
    brokers = live | {each for replicas in plan.assignment.values() for each in replicas}
    topics = sorted({where.topic for where in plan.assignment})
    of_brokers, of_topics = throttles.removal(brokers, topics)
    print(f"Clearing broker-level throttles on broker{_s(brokers)} {_commas(sorted(brokers))}")
    admin.alter_settings(of_brokers)
    print(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    admin.alter_settings(of_topics)


def _where_now(admin: Admin, wanted: Assignment) -> Assignment:
    known = {topic.name for topic in admin.topics()}
    for topic in sorted({where.topic for where in wanted}):
        if topic not in known:
            raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic} not found.")
    now = plans.current(admin.describe({where.topic for where in wanted}))
    missing = sorted(wanted.keys() - now.keys())
    if missing:
        listed = ", ".join(map(str, missing))
        raise Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {listed}")
    return {where: now[where] for where in wanted}


def _started(faults: Mapping[TopicPartition, Fault], head: str) -> None:
    if faults:
        lines = [f"{where}: {fault.message}" for where, fault in sorted(faults.items())]
        raise Told("\n".join([head, *lines]))


def _with_racks(brokers: list[BrokerView], *, aware: bool) -> list[BrokerView]:
    without = [each for each in brokers if each.rack is None]
    if aware and without and len(without) != len(brokers):
        raise BadPlan(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to "
            "make replica assignment without rack information."
        )
    return brokers if aware else [each._replace(rack=None) for each in brokers]


def _broker_ids(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise BadPlan(f'--broker-list "{text}" is not a list of broker ids such as 1,2,3')
    ids = [int(word) for word in words]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise BadPlan(f"Broker list contains duplicate entries: {twice}")
    return ids


def _plan(given: Given) -> Plan:
    return plans.parse_plan(_read(given.needed("--reassignment-json-file")))


def _read(path: str) -> str:
    return read_text(path, failure=lambda _why: BadPlan(f"Unable to read file {path}"))


def _timeout_ms(given: Given) -> int:
    return as_whole_number(given, "--timeout") or _DEFAULT_TIMEOUT_MS


def _commas(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def _s(many: Sized) -> str:
    return "" if len(many) == 1 else "s"


run: Final = Tool(
    "kafka-reassign-partitions",
    flags(
        CONNECTING,
        "--zookeeper=",
        *_WORK,
        "--reassignment-json-file= --topics-to-move-json-file= --broker-list= --disable-rack-aware "
        "--throttle= --replica-alter-log-dirs-throttle= --timeout= --additional "
        "--preserve-throttles --disallow-replication-factor-change",
    ),
    "--bootstrap-server localhost:9092 --execute --reassignment-json-file plan.json "
    "--throttle 50000000",
    _moves,
    failed=_failed,
)
