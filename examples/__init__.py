"""Worked applications: each a small module of plain functions, run by one command.

    headrace run --broker examples.direct_word_count:pipeline

starts a broker of its own, makes the topics that it reads and fills them with a sample; with
`-b HOST:PORT` in the place of `--broker` it does so on brokers of yours.
`docs/guides/start/examples.md` lists them all.
"""
