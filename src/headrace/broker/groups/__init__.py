"""Coordinators on internal topics, and those of groups."""
