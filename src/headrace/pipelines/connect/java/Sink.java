package headrace.pipelines.connect.java;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink's task: it is given rows of bytes, and says which of them it will never take. */
final class Sink implements Role {
    private static final int IDLE_MS = 500;

    private final SinkTask task;
    private final String taskClass;
    private final Chain chain;
    private final Contexts contexts;
    private Exception whileIdle;

    Sink(Map settings, Wire wire) throws Exception {
        contexts = new Contexts(wire, settings);
        chain = new Chain(settings, contexts);
        taskClass = Settings.text(settings, "task.class", null);
        task = (SinkTask) Settings.made(taskClass);
        task.initialize(contexts.ofSink());
        task.start(new HashMap(settings));
    }

    public Object done(String verb, List command) throws Exception {
        if (whileIdle != null) {
            Exception fault = whileIdle;
            whileIdle = null;
            throw fault;
        }
        List answer = new ArrayList();
        if (verb.equals("open")) {
            Collection partitions = partitions((List) command.get(1));
            contexts.assigned.addAll(partitions);
            task.open(partitions);
        } else if (verb.equals("close")) {
            Collection partitions = partitions((List) command.get(1));
            task.close(partitions);
            contexts.assigned.removeAll(partitions);
            contexts.paused.removeAll(partitions);
        } else if (verb.equals("put")) {
            answer.add(put(command));
        } else if (verb.equals("commit")) {
            answer.add(committed((List) command.get(1)));
        } else {
            throw new IllegalArgumentException("a sink does not " + verb);
        }
        answer.add(0, places(contexts.seeks));
        contexts.seeks.clear();
        return answer;
    }

    public int patienceMs() {
        return contexts.assigned.isEmpty() ? 0 : IDLE_MS;
    }

    /** Sinks are called without records too, when there are none: some work only then. */
    public void idle() {
        if (whileIdle == null) {
            try {
                task.put(Collections.emptyList());
            } catch (RetriableException later) {
                return;
            } catch (Exception fault) {
                whileIdle = fault;
            }
        }
    }

    public void stop() throws Exception {
        try {
            task.stop();
        } finally {
            chain.close();
            contexts.close();
        }
    }

    private Object put(List command) throws Exception {
        String topic = (String) command.get(1);
        int partition = ((Long) command.get(2)).intValue();
        if (contexts.paused.contains(new TopicPartition(topic, partition))) {
            throw new RetriableException("the sink has paused " + topic + "-" + partition);
        }
        Map refused = new LinkedHashMap(); // row to failure
        List records = records(command, topic, partition, refused);
        contexts.reported.clear();
        try {
            task.put(records);
        } finally {
            contexts.current.clear();
        }
        if (contexts.late() != null) {
            throw new ConnectException(
                    "a record was reported after the put that brought it had returned; such "
                    + "reports are not supported, the record was of an earlier put",
                    contexts.late());
        }
        chain.stage = "TASK_PUT";
        chain.executing = taskClass;
        Iterator each = contexts.reported.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            refused.put(entry.getKey(),
                    Conversation.failure(chain, (Throwable) entry.getValue()));
        }
        return refused;
    }

    private List records(List command, String topic, int partition, Map refused)
            throws Exception {
        ByteBuffer offsets = Column.view(command.get(3));
        ByteBuffer times = Column.view(command.get(4));
        Column.Reader keys = new Column.Reader(command.get(5), command.get(6));
        Column.Reader values = new Column.Reader(command.get(7), command.get(8));
        ByteBuffer counts = command.get(9) == null ? null : Column.view(command.get(9));
        Column.Reader names = new Column.Reader(command.get(10), command.get(11));
        Column.Reader contents = new Column.Reader(command.get(12), command.get(13));
        List records = new ArrayList();
        for (int row = 0; offsets.hasRemaining(); row++) {
            RecordHeaders headers = new RecordHeaders();
            int count = counts == null ? 0 : counts.getInt();
            for (int i = 0; i < count; i++) {
                String name = new String(names.next(), StandardCharsets.UTF_8);
                headers.add(name, contents.next());
            }
            Read read = new Read(topic, partition, offsets.getLong(), times.getLong(),
                    keys.next(), values.next(), headers);
            add(records, read, row, refused);
        }
        return records;
    }

    private void add(List records, Read read, int row, Map refused) throws Exception {
        long began = System.currentTimeMillis();
        for (int attempt = 0; ; attempt++) {
            try {
                SinkRecord record = (SinkRecord) chain.transformed(read.record(chain));
                if (record != null) {
                    records.add(record);
                    contexts.current.put(record, Integer.valueOf(row));
                }
                return;
            } catch (Exception fault) {
                if (!chain.again(fault, attempt, began)) {
                    refused.put(Integer.valueOf(row), Conversation.failure(chain, fault));
                    return;
                }
            }
        }
    }

    /** A record as it was read. */
    private static final class Read {
        private final String topic;
        private final int partition;
        private final long offset;
        private final long time;
        private final byte[] key;
        private final byte[] value;
        private final Headers headers;

        Read(String topic, int partition, long offset, long time, byte[] key, byte[] value,
                Headers headers) {
            this.topic = topic;
            this.partition = partition;
            this.offset = offset;
            this.time = time;
            this.key = key;
            this.value = value;
            this.headers = headers;
        }

        SinkRecord record(Chain chain) {
            SchemaAndValue readKey = chain.key(topic, headers, key);
            SchemaAndValue readValue = chain.value(topic, headers, value);
            ConnectHeaders readHeaders = chain.headers(topic, headers);
            boolean timed = time != Long.MIN_VALUE;
            return new SinkRecord(topic, partition, readKey.schema(), readKey.value(),
                    readValue.schema(), readValue.value(), offset,
                    timed ? Long.valueOf(time) : null,
                    timed ? TimestampType.CREATE_TIME : TimestampType.NO_TIMESTAMP_TYPE,
                    readHeaders);
        }
    }

    private Object committed(List offsets) throws Exception {
        Map current = new HashMap();
        for (int i = 0; i < offsets.size(); i++) {
            List place = (List) offsets.get(i);
            current.put(partition(place),
                    new OffsetAndMetadata(((Long) place.get(2)).longValue()));
        }
        Map safe = new HashMap();
        Map told = task.preCommit(current);
        Iterator each = told == null ? Collections.emptyIterator() : told.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            if (contexts.assigned.contains(entry.getKey())) {
                long offset = ((OffsetAndMetadata) entry.getValue()).offset();
                safe.put(entry.getKey(), Long.valueOf(offset));
            }
        }
        return places(safe);
    }

    private static Collection partitions(List places) {
        List made = new ArrayList();
        for (int i = 0; i < places.size(); i++) {
            made.add(partition((List) places.get(i)));
        }
        return made;
    }

    private static TopicPartition partition(List place) {
        return new TopicPartition((String) place.get(0), ((Long) place.get(1)).intValue());
    }

    private static List places(Map offsets) {
        List made = new ArrayList();
        Iterator each = offsets.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            TopicPartition partition = (TopicPartition) entry.getKey();
            List place = new ArrayList();
            place.add(partition.topic());
            place.add(Integer.valueOf(partition.partition()));
            place.add(entry.getValue());
            made.add(place);
        }
        return made;
    }
}
