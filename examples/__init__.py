"""Worked applications: each a small module of plain functions, run by one command.

    headrace run examples.direct_word_count:pipeline

starts a broker of its own if none is named, makes the topics that it reads and fills them with a
sample. `docs/guides/examples.md` lists them all.
"""
