"""The outside world as small protocols, and their real implementations.

The core takes a clock, a disk and randomness as arguments; here is what production passes in.
`headrace.testing` holds the twins that jump in time and lose unsynced bytes on purpose.
"""
