"""The share coordinator: the durable state of share partitions on `__share_group_state` (KIP-932).

It keeps what the leaders of partitions tell it, and fences leaders and states that are outdated. It
refuses to know what a state means: who holds a record, and for how long, is the leader's to know.
"""
