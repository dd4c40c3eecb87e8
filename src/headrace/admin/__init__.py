"""A cluster as an administrator sees it: what there is, what to change, and how to ask for it.

`Admin` sends requests over the thin client's `Cluster`: TLS, SASL, deadlines and retries are the
same for all of them. The other modules are questions to an `Admin`, by subject; they answer with
plain values and raise `Refused`. How an answer is shown is left to commands and services.
"""
