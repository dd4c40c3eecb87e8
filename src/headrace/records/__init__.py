"""Record batches of Kafka's message format v2, read as views on memory and written as bytes.

`batch` reads, checks and restamps headers without touching the records; `record` walks the records
inside; `builder` makes batches; `compression` holds the codecs; `recompress` changes a batch's
codec; `control` knows the markers that end a transaction. The bytes are described in
docs/formats/record-batch.md.

Nothing here knows topics, files or requests: a batch is a piece of memory.
"""
