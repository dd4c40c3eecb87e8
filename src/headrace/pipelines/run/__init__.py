"""Runs a pipeline: calls its function, watches its queries, restarts them, stops them in order.

A pipeline is a plain function from a session to queries. Everything a person sees is told as data
(`supervisor.Event`, `progress.QueryProgress`, `folder.RunReport`); nothing here prints.
"""
