"""JSON as Connect writes and reads it, with schemas beside the values or without.

`parsing` reads text as Connect's parser does, `schemas` turns the schema of an envelope into one of
the model and back, `reading` and `writing` do the same for values, `columns` does both for whole
columns where that gives the same bytes and values. `converter` puts them together.
"""
