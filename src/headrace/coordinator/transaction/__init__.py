"""The transaction coordinator: who a transactional producer is, what it touches, how it ends.

docs/protocol/transactions.md tells the whole story.
"""
