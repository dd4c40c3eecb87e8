"""The imperative shell: sockets, threads and time around the core, and the wiring of it all.

Nothing below imports this room. `app` builds a broker; `handlers/` has one module per API.
"""
