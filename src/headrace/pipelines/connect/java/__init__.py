"""Java connectors, unchanged: their tasks, transforms and converters run in a JVM.

What is fetched, produced and committed stays here. `found` knows what lies in `plugin.path`, `jvm`
where it runs, `conversation` how a JVM is asked; `source` and `sink` are tasks like any others,
whose records are bytes on this side. The Java beside them is compiled where it runs.
"""
