"""The cluster as data, and the decisions of its controller.

Everything here is a pure function of values: the image of the cluster, a request, chance as an
argument. `store` translates between changes and nodes of the coordination tree. This room refuses
to know of sockets, clocks, disks and of the log itself.
"""
