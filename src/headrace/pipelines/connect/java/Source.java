package headrace.pipelines.connect.java;

import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source's task: what it polls leaves as bytes, with how far each partition of the source is. */
final class Source implements Role {
    private static final Long NO_TIME = Long.valueOf(Long.MIN_VALUE);

    private final SourceTask task;
    private final Chain chain;
    private final Contexts contexts;
    private final boolean hearsOfRecords;
    private List waiting = new ArrayList(); // polled, and not acknowledged

    Source(Map settings, Wire wire) throws Exception {
        contexts = new Contexts(wire, settings);
        chain = new Chain(settings, contexts);
        task = (SourceTask) Settings.made(Settings.text(settings, "task.class", null));
        hearsOfRecords = hearsOfRecords();
        task.initialize(contexts.ofSource());
        task.start(new HashMap(settings));
    }

    public Object done(String verb, List command) throws Exception {
        if (verb.equals("poll")) {
            return polled();
        }
        if (verb.equals("commit")) {
            commit();
            return null;
        }
        throw new IllegalArgumentException("a source does not " + verb);
    }

    public void idle() {
    }

    public int patienceMs() {
        return 0;
    }

    public void stop() throws Exception {
        try {
            task.stop();
        } finally {
            chain.close();
            contexts.close();
        }
    }

    private void commit() throws Exception {
        List left = waiting;
        waiting = new ArrayList();
        for (int i = 0; i < left.size(); i++) {
            task.commitRecord((SourceRecord) left.get(i), null);
        }
        task.commit();
    }

    /** Whether the task does something for each acknowledged record: only then they are kept. */
    private boolean hearsOfRecords() throws NoSuchMethodException {
        Method of = task.getClass().getMethod(
                "commitRecord", new Class[] {SourceRecord.class, RecordMetadata.class});
        return of.getDeclaringClass() != SourceTask.class;
    }

    private Object polled() throws Exception {
        List records = task.poll();
        if (records == null || records.isEmpty()) {
            return null;
        }
        Rows rows = new Rows();
        Map marks = new LinkedHashMap();
        List dropped = new ArrayList();
        for (int i = 0; i < records.size(); i++) {
            SourceRecord record = (SourceRecord) records.get(i);
            add(rows, record, dropped);
            if (record.sourcePartition() != null && record.sourceOffset() != null) {
                marks.remove(record.sourcePartition());
                marks.put(record.sourcePartition(), record.sourceOffset());
            }
        }
        if (hearsOfRecords) {
            waiting.addAll(records);
        }
        List frame = rows.frame();
        frame.add(pairs(marks));
        frame.add(dropped);
        frame.add(Integer.valueOf(waiting.size()));
        return frame;
    }

    private void add(Rows rows, SourceRecord record, List dropped) throws Exception {
        long began = System.currentTimeMillis();
        for (int attempt = 0; ; attempt++) {
            try {
                SourceRecord going = (SourceRecord) chain.transformed(record);
                if (going != null) {
                    Headers headers = chain.headersOf(going);
                    byte[] key = chain.keyOf(going, headers);
                    rows.add(going, key, chain.valueOf(going, headers), headers);
                }
                return;
            } catch (Exception fault) {
                if (chain.again(fault, attempt, began)) {
                    continue;
                }
                if (!chain.toleratesAll()) {
                    throw Conversation.tolerance(chain, fault);
                }
                dropped.add(Conversation.failure(chain, fault));
                return;
            }
        }
    }

    private static List pairs(Map marks) {
        List made = new ArrayList();
        Iterator each = marks.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            List pair = new ArrayList();
            pair.add(entry.getKey());
            pair.add(entry.getValue());
            made.add(pair);
        }
        return made;
    }

    /** Rows of a poll as columns, and which of them go to which topic and partition. */
    private static final class Rows {
        private final List runs = new ArrayList();
        private final Column keys = new Column();
        private final Column values = new Column();
        private final List times = new ArrayList();
        private final List headerCounts = new ArrayList();
        private final Column headerNames = new Column();
        private final Column headerValues = new Column();
        private boolean hasHeaders;
        private String topic;
        private Integer partition;
        private int count;

        void add(SourceRecord record, byte[] key, byte[] value, Headers headers) {
            Integer wanted = record.kafkaPartition();
            boolean same = count > 0 && topic.equals(record.topic())
                    && (wanted == null ? partition == null : wanted.equals(partition));
            if (!same) {
                endRun();
                topic = record.topic();
                partition = wanted;
            }
            count++;
            keys.add(key);
            values.add(value);
            times.add(record.timestamp() == null ? NO_TIME : record.timestamp());
            Header[] all = headers.toArray();
            headerCounts.add(Integer.valueOf(all.length));
            for (int i = 0; i < all.length; i++) {
                hasHeaders = true;
                headerNames.add(all[i].key().getBytes(StandardCharsets.UTF_8));
                headerValues.add(all[i].value());
            }
        }

        private void endRun() {
            if (count > 0) {
                List run = new ArrayList();
                run.add(topic);
                run.add(partition);
                run.add(Integer.valueOf(count));
                runs.add(run);
            }
            count = 0;
        }

        List frame() {
            endRun();
            List frame = new ArrayList();
            frame.add(runs);
            keys.writeTo(frame);
            values.writeTo(frame);
            frame.add(Column.longs(times));
            frame.add(hasHeaders ? Column.numbers(headerCounts) : null);
            headerNames.writeTo(frame);
            headerValues.writeTo(frame);
            return frame;
        }
    }
}
