"""How much a client may use, and how long it must wait when it has used more: decisions only.

    MODULE        WHAT IT DECIDES
    limits        which of the stored quotas holds for a user and a client id
    rates         how fast somebody was lately, and how long until that is slow enough
    buckets       the same for changes of topics, which come in bursts (KIP-599)
    meters        whose use is remembered, and for how long
    accounts      the three together: what one kind of use costs one client
    connections   how fast connections may come

Nobody here knows sockets or clocks: time is an argument, and who waits is somebody else's matter.
"""
