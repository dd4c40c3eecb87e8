"""Topics as files of a lake and as tables: Confluent's HDFS and S3 sinks by their names, and ours.

`settings` are what can be set, `assembly` makes a writer of `headrace.pipelines.lake` of them,
`values` turns batches into its rows, `compatibility` keeps files to one schema, `sink` has the
tasks.
"""
