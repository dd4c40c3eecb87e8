"""`headrace lake`: jobs that copy what is new in topics into files, and end."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.failures import WrongUsage
from headrace.cli.options import NONE_GIVEN, parse_pairs
from headrace.cli.parameters import argument, option

app = typer.Typer(help="Copy topics into files on local disks, HDFS or S3, with job files.")

LocalFlag = Annotated[bool, option("--local", "Run in threads of this process, without Spark.")]
MasterOption = Annotated[
    str | None,
    option(
        "--master URL", "local[*], spark://…, yarn, k8s://… Default: $HEADRACE_MASTER, or Spark's."
    ),
]
SetOption = Annotated[
    list[str], option("--set -D KEY=VALUE", "A setting over those of the file; may be repeated.")
]


@app.command("camus", epilog="Example: headrace lake camus -P camus.properties --local")
def run_camus(
    properties: Annotated[str, option("--properties -P FILE", "The settings of the job.")],
    name: Annotated[
        str, option("--class CLASS", "Of Hadoop's command line; CamusJob is the only one.")
    ] = "CamusJob",
    local: LocalFlag = False,
    master: MasterOption = None,
    settings: SetOption = NONE_GIVEN,
) -> int:
    """Copy what is new in topics into files by the hour, with the settings of Camus.

    Ends with 1 if a partition could not be copied; the next run tries it again.
    """
    from headrace.cli import lake_jobs

    if name.rpartition(".")[2] != "CamusJob":
        raise WrongUsage(f"--class {name} is not a job of Camus", "leave it out, or give CamusJob")
    return lake_jobs.camus(properties, parse_pairs(settings, "--set"), local=local, master=master)


@app.command("gobblin", epilog="Example: headrace lake gobblin kafka_to_hdfs.conf --local")
def run_gobblin(
    file: Annotated[str, argument("FILE", "The job file.")],
    local: LocalFlag = False,
    master: MasterOption = None,
    settings: SetOption = NONE_GIVEN,
) -> int:
    """Run a Gobblin job once: extract, convert, check, write, publish.

    Ends with 1 if a work unit failed; with job.commit.policy=full nothing was published then.
    """
    from headrace.cli import lake_jobs

    return lake_jobs.gobblin(file, parse_pairs(settings, "--set"), local=local, master=master)
