"""A partition as a share group sees it: who holds which record, and what became of it (KIP-932).

`states` has the nouns, `window` the offsets that are in flight, `choosing` finds what a member may
have, and `partition` puts them together. Nothing here knows requests, sessions, logs or the place
where states are kept: batches, times and the outcome of writes are arguments.
"""
