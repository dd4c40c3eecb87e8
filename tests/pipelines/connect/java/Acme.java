package acme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Connectors that use what Connect offers to connectors, and fail when they are told to. */
public final class Acme {
    private static void note(Map<String, String> settings, String line) {
        try {
            Files.writeString(Path.of(settings.get("notes")), line + "\n",
                    StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException fault) {
            throw new UncheckedIOException(fault);
        }
    }

    /** Numbers, as long as there are any: even and odd ones are two partitions. */
    public static final class Numbers extends SourceConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> given) {
            settings = given;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return NumbersTask.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int most) {
            return List.of(settings);
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef()
                    .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where to")
                    .define("last", ConfigDef.Type.INT, 5, ConfigDef.Range.atLeast(1),
                            ConfigDef.Importance.LOW, "The last number")
                    .define("secret", ConfigDef.Type.PASSWORD, "hush",
                            ConfigDef.Importance.LOW, "Not shown");
        }

        @Override
        public String version() {
            return "7.1";
        }
    }

    /** Notes what it is told, and throws once at `retry`, for ever at `fail`. */
    public static final class NumbersTask extends SourceTask {
        private Map<String, String> settings;
        private long next;
        private boolean retried;

        @Override
        public void start(Map<String, String> given) {
            settings = given;
            next = 0;
            for (String parity : List.of("even", "odd")) {
                Map<String, Object> kept = context.offsetStorageReader().offset(Map.of("p", parity));
                if (kept != null) {
                    next = Math.max(next, (Long) kept.get("number") + 1);
                }
            }
            var name = context.pluginMetrics().metricName("n", "of nothing", new LinkedHashMap<>());
            context.pluginMetrics().addMetric(name, (config, now) -> 1);
            note(settings, "started at " + next);
            note(settings, "in process " + ProcessHandle.current().pid());
        }

        @Override
        public List<SourceRecord> poll() {
            if (settings.get("fail") != null && next == Long.parseLong(settings.get("fail"))) {
                throw new IllegalStateException("out of numbers");
            }
            if (!retried && next == Long.parseLong(settings.getOrDefault("retry", "-1"))) {
                retried = true;
                throw new RetriableException("not now");
            }
            if (next > Long.parseLong(settings.get("last"))) {
                return null;
            }
            Map<String, String> partition = Map.of("p", next % 2 == 0 ? "even" : "odd");
            SourceRecord record = new SourceRecord(partition, Map.of("number", next),
                    settings.get("topic"), null, Schema.STRING_SCHEMA, "k" + next % 3,
                    Schema.INT64_SCHEMA, next, 1_000_000 + next);
            record.headers().addString("parity", partition.get("p"));
            next++;
            return List.of(record);
        }

        @Override
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            note(settings, "acknowledged " + record.value());
        }

        @Override
        public void stop() {
            note(settings, "stopped");
        }

        @Override
        public String version() {
            return "7.1";
        }
    }

    /** Notes values. */
    public static final class Notes extends SinkConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> given) {
            settings = given;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return NotesTask.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int most) {
            return new ArrayList<>(List.of(settings));
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public String version() {
            return "7.1";
        }
    }

    /** Reports values that are "bad", asks once for "again" to be put again, seeks with "back". */
    public static final class NotesTask extends SinkTask {
        private Map<String, String> settings;
        private boolean retried;
        private boolean wentBack;

        @Override
        public void start(Map<String, String> given) {
            settings = given;
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord record : records) {
                if ("again".equals(record.value()) && !retried) {
                    retried = true;
                    throw new RetriableException("once more");
                }
            }
            for (SinkRecord record : records) {
                if ("bad".equals(record.value())) {
                    context.errantRecordReporter().report(record, new ArithmeticException("too bad"));
                } else if ("fatal".equals(record.value())) {
                    throw new IllegalStateException("the end");
                } else {
                    String told = record.headers().isEmpty()
                            ? "" : " " + record.headers().iterator().next().value();
                    note(settings, record.key() + "=" + record.value() + told);
                }
                if ("back".equals(record.value()) && !wentBack) {
                    wentBack = true;
                    context.offset(new TopicPartition(record.topic(), record.kafkaPartition()), 0);
                }
            }
        }

        @Override
        public Map<TopicPartition, OffsetAndMetadata> preCommit(
                Map<TopicPartition, OffsetAndMetadata> offsets) {
            offsets.forEach((partition, at) -> note(settings, "commit " + at.offset()));
            return offsets;
        }

        @Override
        public void stop() {
            note(settings, "stopped");
        }

        @Override
        public String version() {
            return "7.1";
        }
    }
}
