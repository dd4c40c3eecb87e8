import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java client under chaos: a prober and a transactional copier that keep the same journals as
 * their Python counterparts (tests/chaos/history/journal.py).
 *
 * <p>Usage: {@code Chaos probe|copy BOOTSTRAP FOLDER PROCESS PROTOCOL}. SIGTERM asks for an orderly
 * end. A fatal error ends the process; the next life goes on.
 */
public final class Chaos {
    private static final int PARTITIONS = 4;
    private static final Duration POLL = Duration.ofMillis(200);

    private final String bootstrap;
    private final String process;
    private final Journal journal;
    private volatile boolean ending;

    private Chaos(String[] words) throws IOException {
        bootstrap = words[1];
        process = words[3];
        journal = new Journal(words[2] + "/" + process + ".jsonl", process);
    }

    public static void main(String[] words) throws Exception {
        Chaos chaos = new Chaos(words);
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            chaos.ending = true;
            try {
                main.join(20_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }));
        if (words[0].equals("probe")) {
            chaos.probe();
        } else {
            chaos.copy();
        }
    }

    private static long nowMs() {
        return System.nanoTime() / 1_000_000; // CLOCK_MONOTONIC, as Python's
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("reconnect.backoff.ms", 10);
        settings.put("reconnect.backoff.max.ms", 200);
        settings.put("retry.backoff.ms", 10);
        settings.put("retry.backoff.max.ms", 200);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return settings;
    }

    /** One record in flight per partition, all the time; idempotent, acks=all, for ever. */
    private void probe() throws Exception {
        Properties settings = settings();
        settings.put("delivery.timeout.ms", Integer.MAX_VALUE);
        settings.put("request.timeout.ms", 5000);
        settings.put("max.block.ms", 600_000);
        Map<Integer, Boolean> inFlight = new ConcurrentHashMap<>();
        long count = 0;
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            while (!ending) {
                for (int partition = 0; partition < PARTITIONS; partition++) {
                    if (inFlight.putIfAbsent(partition, true) == null) {
                        count++;
                        send(producer, partition, process + "." + count, inFlight);
                    }
                }
                Thread.sleep(50);
            }
            producer.close(Duration.ofSeconds(10));
        }
    }

    private void send(
            KafkaProducer<String, String> producer,
            int partition,
            String value,
            Map<Integer, Boolean> inFlight) {
        String key = "probe/" + partition;
        long id = journal.begin("send", List.of(new Sent(key, value)), List.of(), List.of());
        producer.send(new ProducerRecord<>("probe", partition, null, value), (told, fault) -> {
            Sent sent = new Sent(key, value);
            sent.offset = fault == null ? told.offset() : -1;
            journal.end(id, fault == null ? "ok" : "info", List.of(sent));
            inFlight.remove(partition);
        });
    }

    /** Reads a batch, writes what it made of it, commits both in one transaction. */
    private void copy() throws Exception {
        Properties settings = settings();
        settings.put("transactional.id", process.substring(0, process.lastIndexOf('.')));
        settings.put("transaction.timeout.ms", 10_000);
        settings.put("request.timeout.ms", 5000);
        settings.put("delivery.timeout.ms", 9000);
        settings.put("max.block.ms", 30_000);
        settings.put("group.id", "workers");
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", 3000);
        settings.put("heartbeat.interval.ms", 750);
        settings.put("max.poll.interval.ms", 60_000);
        settings.put("max.poll.records", 25);
        settings.put("partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.RangeAssignor");
        TreeSet<String> moved = new TreeSet<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
                KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            producer.initTransactions();
            consumer.subscribe(List.of("input"), new Moves(moved));
            journal.note("subscribe", List.of());
            long attempts = 0;
            while (!ending) {
                List<ConsumerRecord<String, String>> batch = new ArrayList<>();
                consumer.poll(POLL).forEach(batch::add);
                if (!batch.isEmpty()) {
                    transact(consumer, producer, batch, attempts, moved);
                    attempts += batch.size();
                }
            }
        } catch (RuntimeException fault) { // also what the client calls an illegal state
            journal.note("crash", List.of());
            fault.printStackTrace();
            System.exit(1);
        }
    }

    private void transact(
            KafkaConsumer<String, String> consumer,
            KafkaProducer<String, String> producer,
            List<ConsumerRecord<String, String>> batch,
            long attempts,
            TreeSet<String> moved) throws Exception {
        List<Sent> made = new ArrayList<>();
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        for (ConsumerRecord<String, String> record : batch) {
            attempts++;
            String value = record.value() + ">" + process + "." + attempts;
            made.add(new Sent("output/" + partitionOf(value), value));
            ends.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
        }
        long id = journal.begin("txn", made, batch, new ArrayList<>(moved));
        moved.clear();
        boolean asked = false;
        String outcome = "ok";
        try {
            producer.beginTransaction();
            for (Sent sent : made) {
                int slash = sent.key.indexOf('/');
                int partition = Integer.parseInt(sent.key.substring(slash + 1));
                producer.send(
                        new ProducerRecord<>("output", partition, null, sent.value),
                        (told, fault) -> sent.offset = fault == null ? told.offset() : -1);
            }
            producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
            journal.commit(id);
            asked = true;
            producer.commitTransaction();
        } catch (ProducerFencedException | InvalidProducerEpochException fault) {
            journal.end(id, asked ? "info" : "fail", made);
            throw fault;
        } catch (KafkaException fault) {
            System.err.println(nowMs() + " " + process + ": " + fault);
            producer.abortTransaction();
            outcome = asked ? "info" : "fail";
        }
        journal.end(id, outcome, made);
        if (!outcome.equals("ok")) {
            goBack(consumer);
        }
    }

    /** Continue where the group's last commit is. */
    private static void goBack(KafkaConsumer<String, String> consumer) {
        var held = consumer.assignment();
        Map<TopicPartition, OffsetAndMetadata> found =
                consumer.committed(held, Duration.ofSeconds(30));
        for (TopicPartition place : held) {
            OffsetAndMetadata committed = found.get(place);
            consumer.seek(place, committed == null ? 0 : committed.offset());
        }
    }

    private static long partitionOf(String value) {
        CRC32 crc = new CRC32();
        crc.update(value.getBytes(StandardCharsets.UTF_8));
        return crc.getValue() % PARTITIONS;
    }

    private final class Moves implements ConsumerRebalanceListener {
        private final TreeSet<String> moved;

        Moves(TreeSet<String> moved) {
            this.moved = moved;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            note(partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            note(partitions);
        }

        private void note(Collection<TopicPartition> partitions) {
            List<String> keys = new ArrayList<>();
            partitions.forEach(place -> keys.add(place.topic() + "/" + place.partition()));
            moved.addAll(keys);
            journal.note("rebalance", keys);
        }
    }

    private static final class Sent {
        final String key;
        final String value;
        volatile long offset = -1;

        Sent(String key, String value) {
            this.key = key;
            this.value = value;
        }
    }

    /** Lines of JSON, each by one write. Names and values hold nothing that JSON would escape. */
    private static final class Journal {
        private final FileOutputStream file;
        private final String process;
        private long nextId;

        Journal(String path, String process) throws IOException {
            this.file = new FileOutputStream(path, true);
            this.process = process;
        }

        synchronized long begin(
                String kind,
                List<Sent> sent,
                List<ConsumerRecord<String, String>> polled,
                List<String> rebalanced) {
            long id = nextId++;
            StringBuilder line = new StringBuilder(start("begin", id));
            line.append(",\"process\":\"").append(process).append("\",\"kind\":\"").append(kind);
            line.append("\",\"began_ms\":").append(nowMs()).append(sentOf(sent));
            line.append(",\"polled\":[");
            for (int at = 0; at < polled.size(); at++) {
                ConsumerRecord<String, String> record = polled.get(at);
                String key = record.topic() + "/" + record.partition();
                line.append(at == 0 ? "" : ",").append(triple(key, record.offset(), record.value()));
            }
            write(line.append("],\"rebalanced\":").append(strings(rebalanced)).append('}'));
            return id;
        }

        synchronized void commit(long id) {
            write(new StringBuilder(start("commit", id)).append('}'));
        }

        synchronized void end(long id, String outcome, List<Sent> sent) {
            StringBuilder line = new StringBuilder(start("end", id));
            line.append(",\"outcome\":\"").append(outcome).append("\",\"ended_ms\":");
            write(line.append(nowMs()).append(sentOf(sent)).append('}'));
        }

        synchronized void note(String kind, List<String> keys) {
            long id = nextId++;
            StringBuilder line = new StringBuilder(start("begin", id));
            line.append(",\"process\":\"").append(process).append("\",\"kind\":\"").append(kind);
            line.append("\",\"began_ms\":").append(nowMs());
            write(line.append(",\"keys\":").append(strings(keys)).append('}'));
            write(new StringBuilder(start("end", id))
                    .append(",\"outcome\":\"ok\",\"ended_ms\":").append(nowMs()).append('}'));
        }

        private static String start(String line, long id) {
            return "{\"line\":\"" + line + "\",\"id\":" + id;
        }

        private static String sentOf(List<Sent> sent) {
            StringBuilder text = new StringBuilder(",\"sent\":[");
            for (int at = 0; at < sent.size(); at++) {
                Sent one = sent.get(at);
                text.append(at == 0 ? "" : ",").append(triple(one.key, one.offset, one.value));
            }
            return text.append(']').toString();
        }

        private static String triple(String key, long offset, String value) {
            String known = offset < 0 ? "null" : Long.toString(offset);
            return "[\"" + key + "\"," + known + ",\"" + value + "\"]";
        }

        private static String strings(List<String> items) {
            return items.isEmpty() ? "[]" : "[\"" + String.join("\",\"", items) + "\"]";
        }

        private void write(StringBuilder line) {
            try {
                file.write(line.append('\n').toString().getBytes(StandardCharsets.UTF_8));
            } catch (IOException fault) {
                throw new IllegalStateException(fault);
            }
        }
    }
}
