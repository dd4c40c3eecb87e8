"""Share groups: the partitions that are shared here, and the states that others keep."""
