"""Word count of a text file on core Spark: nothing runs before the result is saved.

headrace run examples.batch_word_count:pipeline
python -m examples.batch_word_count INPUT-FILE OUTPUT-FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from examples.sample_text import LINES

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

APPLICATION: Final = "wordCount"


def word_counts(lines: RDD[str]) -> RDD[tuple[str, int]]:
    """A plan, not a result: words are what stands between single blanks."""
    words = lines.flatMap(lambda line: line.split(" "))
    return words.map(lambda word: (word, 1)).reduceByKey(lambda left, right: left + right)


def count_file(spark: SparkSession, input_file: str, output_folder: str) -> None:
    """Write `(word, count)` lines; this is the action that makes Spark read and count."""
    lines = spark.sparkContext.textFile(input_file)
    word_counts(lines).saveAsTextFile(output_folder)


def pipeline(spark: SparkSession) -> None:
    """A sample is counted, and the result printed."""
    folder = Path(mkdtemp(prefix="word-count-"))
    (folder / "input.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    count_file(spark, str(folder / "input.txt"), str(folder / "counts"))
    for part in sorted((folder / "counts").glob("part-*")):
        print(part.read_text(encoding="utf-8"), end="")


def main(arguments: list[str]) -> None:
    from headrace.pipelines import session

    if len(arguments) != 2:
        raise SystemExit("write: batch_word_count INPUT-FILE OUTPUT-FOLDER")
    spark = session(APPLICATION)
    count_file(spark, *arguments)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
