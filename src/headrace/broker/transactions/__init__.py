"""Transactions: their coordinators, their markers, and the writes that belong to them."""
