"""Metrics that clients push (KIP-714): who shall push what, and what they have pushed.

`subscriptions` decides from the settings of the resources CLIENT_METRICS, `otlp` reads a report,
`store` keeps what was reported, within limits, for `/metrics` to show.
"""
