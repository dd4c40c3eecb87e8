"""What groups have in common whose partitions the broker assigns: consumer and share groups.

A modern group has an epoch that grows with every change, and a target assignment for one epoch.
How a member gets from what it has to its target is decided by each kind of group.
"""
