"""What moves through Connect: schemas, values, records, and batches of records as Arrow columns.

A record form and a columnar form stand side by side and always mean the same. The record form is
complete; the columnar form is an acceleration for what Arrow can hold.
"""
