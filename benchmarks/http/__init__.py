"""Programs for the cases that measure HTTP services: a load, and a server to compare with."""
