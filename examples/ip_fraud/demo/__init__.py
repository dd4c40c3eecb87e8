"""`make demo`: the main job from end to end, watched while it runs and checked when it is done.

A broker, a million records through it and back, then web traffic from the generator, the IP-fraud
pipeline on Spark, a live table of what it finds, every figure compared with the generator's truth,
and a plot.

    python -m examples.ip_fraud.demo [--seconds N] [--rate N] [--seed N] [--output FOLDER]

The broker is its own; only `-b HOST:PORT` names another.
"""
