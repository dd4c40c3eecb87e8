"""One writer for files of records on local disks, HDFS and S3, exactly once.

What a front end sees (Connect's sinks, Camus, Gobblin, Flume):

    target = FileTarget(filesystem("hdfs://namenode:8020"), ParquetFormat(), layout=Layout())
    writer = LakeWriter(target, DefaultPartitioner(), Rotation(rows=10_000), SystemClock())
    writer.begin([("clicks", 0)])      # {("clicks", 0): 20_000} if files end with offset 19999
    writer.write(Rows("clicks", 0, values, offsets, times))      # {row: reason} of rows refused
    writer.tick()                      # publishes what a schedule says
    writer.publish(("clicks", 0))      # publishes now; not needed where rotation does it
    writer.passed(("clicks", 0), 30_000)                         # rows before it were left out
    writer.safe(("clicks", 0))         # everything before this offset is published
    writer.close()                     # what is not published is dropped

`values` is an Arrow array: structs for Avro and Parquet, strings or bytes for `LinesFormat`. The
partitioner says which folder each row belongs to, the rotation when everything that a partition of
the topic has open is published together: by rows, by time, by bytes. Files are

    <topics.dir>/<topic>/<folder>/<topic>+<partition>+<first offset>+<last offset>.<extension>

and `begin` finds by listing them where each partition goes on. At most `most_open` files are open:
the one that has not been written to for longest is finished early. A published set of files is one
entry in `logs.dir` (`journal`): all of it is there after a crash, or nothing of it.

After a `LakeFault` everything that the partition had open is dropped: write again from `safe` on.
`Fenced` says that another writer has published there. Rows that were written before are passed
over, so writing too much again does no harm. One thread uses a writer.

`tables` has targets that are Delta and Iceberg tables instead of files.
`partitioners`, `rotation`, `layout`, `formats` and `filesystems` are the parts; a front end with
file names of its own brings another `Layout`. Nothing here knows Connect or Spark.
"""
