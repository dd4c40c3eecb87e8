"""Topics read by Spark: what to read, how much of it at a time, and what to say when it is gone.

A planner process beside the driver decides offset ranges (`planning`), tasks in the workers read
them (`reading`). Everything between, from options to gaps, is plain data and plain functions.
"""
