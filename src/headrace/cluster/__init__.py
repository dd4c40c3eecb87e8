"""The cluster as data, and the decisions of its controller.

Everything here is a pure function of values: the image of the cluster, a request, chance as an
argument. `writing` says how changes become nodes of the coordination tree, `following` what changed
nodes mean, `store` how a cluster and a broker begin. This room refuses to know of sockets, clocks,
disks and of the log itself.
"""
