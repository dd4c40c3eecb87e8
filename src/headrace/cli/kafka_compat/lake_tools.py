"""`gobblin-mapreduce`, `camus-run` and `flume-ng`: the lake's jobs by the names of their scripts.

gobblin-mapreduce --conf kafka_to_hdfs.conf
camus-run -P camus.properties
flume-ng agent -n pipeline -c conf -f flumekafka.conf
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.cli import flume_agent, lake_jobs
from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.kafka_compat.administering import brokers_in_zookeeper

_GOBBLIN: Final = """\
Usage: gobblin-mapreduce --conf FILE [flags]

  --conf FILE       The job file.
  -D KEY=VALUE      A setting over those of the file.
  --master URL      Spark's master: local[*], spark://…, yarn, k8s://…
  --local           Run in threads of this process, without Spark.
  --workdir DIR     The working folder; what ${env:GOBBLIN_WORK_DIR} stands for.
  --jars FILES      Of Java; without effect.
  --fs, --jt, --logdir VALUE  Of Hadoop; without effect.
  --help            Show this.

Example: gobblin-mapreduce --conf kafka_to_hdfs.conf"""
_CAMUS: Final = """\
Usage: camus-run -P FILE [flags]

  -P FILE           The settings of the job.
  -D KEY=VALUE      A setting over those of the file.
  --master URL      Spark's master: local[*], spark://…, yarn, k8s://…
  --local           Run in threads of this process, without Spark.
  --help            Show this.

Example: camus-run -P camus.properties"""
_FLUME: Final = """\
Usage: flume-ng agent --name NAME --conf-file FILE [flags]
       flume-ng help | version

  --name NAME       The agent: the first part of its keys in the file. Also -n.
  --conf-file FILE  The file that describes the agent. Also -f.
  --conf DIR        The folder of Flume's environment; without effect. Also -c.
  --no-reload-conf  The file is read once in any case.
  -D KEY=VALUE      A property of Java; without effect.
  --help            Show this. Also -h.

Example: flume-ng agent -n pipeline -c conf -f flumekafka.conf"""
_LOCAL: Final = "--local"
_ALONE: Final = frozenset({_LOCAL, "--no-reload-conf", "-d", "--dryrun"})


def gobblin(words: list[str]) -> int:
    """Run a job once."""
    if "--help" in words:
        print(_GOBBLIN)
        return 0
    known = ("--conf", "-D", "--master", _LOCAL, "--workdir", "--jars", "--fs", "--jt", "--logdir")
    given, over = _read("gobblin-mapreduce", words, dict.fromkeys(known, ""), _GOBBLIN)
    if "--conf" not in given:
        raise Failure("no job file is given", _line(_GOBBLIN))
    if "--workdir" in given:
        import os

        os.environ["GOBBLIN_WORK_DIR"] = given["--workdir"]
    return lake_jobs.gobblin(
        given["--conf"], over, local=_LOCAL in given, master=given.get("--master")
    )


def camus(words: list[str]) -> int:
    """Run a job once. The name of the class may stand before the flags, as for `hadoop jar`."""
    if "--help" in words:
        print(_CAMUS)
        return 0
    if words and words[0].rpartition(".")[2] == "CamusJob":
        words = words[1:]
    known = {"-P": "", "-D": "", "--master": "", _LOCAL: ""}
    given, over = _read("camus-run", words, known, _CAMUS)
    if "-P" not in given:
        raise Failure("no file of the job's settings is given", _line(_CAMUS))
    return lake_jobs.camus(given["-P"], over, local=_LOCAL in given, master=given.get("--master"))


def flume(words: list[str]) -> int:
    """Run an agent until SIGINT or SIGTERM."""
    if not words or words[0] == "help" or "--help" in words or "-h" in words:
        print(_FLUME)
        return 0 if words else 1
    if words[0] == "version":
        from headrace import __version__

        print(f"headrace {__version__}, with the agent files of Flume 1.11")
        return 0
    known = {
        "-n": "--name",
        "-f": "--conf-file",
        "-c": "--conf",
        "--name": "",
        "--conf-file": "",
        "--conf": "",
        "--no-reload-conf": "",
        "-D": "",
        "-d": "",
        "--dryrun": "",
    }
    if words[0] != "agent" and not words[0].startswith("-"):
        raise Failure(f"flume-ng has no command {words[0]}", _line(_FLUME))
    given, _ = _read("flume-ng", words[words[0] == "agent" :], known, _FLUME)
    for flag in ("--name", "--conf-file"):
        if flag not in given:
            raise Failure(f"{flag} is missing", _line(_FLUME))
    return flume_agent.serve(given["--conf-file"], given["--name"], _brokers)


def _brokers(zookeeper: str) -> str:
    return brokers_in_zookeeper(
        zookeeper, "zookeeperConnect is deprecated, use kafka.bootstrap.servers"
    )


def _read(
    name: str, words: list[str], known: Mapping[str, str], usage: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Flags with their values, and what `-D` sets. `known` has what a short flag stands for."""
    given: dict[str, str] = {}
    over: dict[str, str] = {}
    rest = list(reversed(words))
    while rest:
        word, equals, value = rest.pop().partition("=")
        if word.startswith("-D") and "-D" in known:
            pair = f"{word[2:]}{equals}{value}" or (rest.pop() if rest else "")
            key, _, over[key] = pair.partition("=")
            continue
        if word not in known:
            hint = did_you_mean(word, known)
            raise Failure(f"{name} has no flag {word}", f"{hint} {_line(usage)}".lstrip())
        if word not in _ALONE and not equals:
            if not rest:
                raise Failure(f"{word} needs a value", _line(usage))
            value = rest.pop()
        given[known[word] or word] = value
    return given, over


def _line(usage: str) -> str:
    return f"{usage.splitlines()[0]} (see --help)"
