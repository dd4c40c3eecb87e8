// Producers of the Java client, kept open under a name: one JSON command per line in, one JSON
// answer per line out (see drivers/program.py). Plug-ins write down how they were called.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;

public final class JavaProducer {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long TIMEOUT_SECONDS = 30;
    static final Map<String, Open> PRODUCERS = new HashMap<>();
    static final Map<String, List<String>> CALLS = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        // This file is compiled in memory; Kafka finds its plug-ins where this class comes from.
        Thread.currentThread().setContextClassLoader(JavaProducer.class.getClassLoader());
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", JSON.valueToTree(carryOut(JSON.readTree(line))));
            } catch (Exception fault) {
                Throwable cause = fault instanceof ExecutionException ? fault.getCause() : fault;
                int code = cause instanceof ApiException ? Errors.forException(cause).code() : -1;
                StringBuilder chain = new StringBuilder();
                for (Throwable each = cause; each != null; each = each.getCause()) {
                    chain.append(each).append("; ");
                }
                answer.put("error", code).put("message", chain.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    // A producer, and what its callbacks were told so far.
    static final class Open {
        final KafkaProducer<Object, Object> producer;
        final List<ObjectNode> reports = new ArrayList<>();

        Open(Properties settings) {
            producer = new KafkaProducer<>(settings);
        }

        Future<RecordMetadata> send(ProducerRecord<Object, Object> record, String note) {
            return producer.send(record, (metadata, fault) -> {
                ObjectNode report = described(metadata).put("note", note);
                report.put("exception", fault == null ? null : fault.getClass().getSimpleName());
                report.put("thread", Thread.currentThread().getName());
                synchronized (reports) {
                    reports.add(report);
                    reports.notifyAll();
                }
            });
        }

        List<ObjectNode> await(int count) throws InterruptedException {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
            synchronized (reports) {
                while (reports.size() < count && System.nanoTime() < deadline) {
                    reports.wait(100);
                }
                return List.copyOf(reports);
            }
        }
    }

    static Object carryOut(JsonNode command) throws Exception {
        String op = command.get("op").asText();
        switch (op) {
            case "open":
                PRODUCERS.put(command.get("producer").asText(), new Open(settings(command)));
                return true;
            case "defaults": {
                Map<String, String> defaults = new TreeMap<>();
                ProducerConfig.configDef().defaultValues().forEach((key, value) -> defaults.put(key, String.valueOf(value)));
                return defaults;
            }
            case "record_forms":
                return recordForms(command.get("topic").asText());
            case "read":
                return read(command);
            case "calls":
                return CALLS.getOrDefault(command.get("log").asText(), List.of());
            case "io_threads":
                return Thread.getAllStackTraces().keySet().stream().map(Thread::getName)
                    .filter(name -> name.startsWith("kafka-producer-network-thread")).sorted().toList();
            default:
                return carryOut(op, command, PRODUCERS.get(command.get("producer").asText()));
        }
    }

    static Object carryOut(String op, JsonNode command, Open open) throws Exception {
        KafkaProducer<Object, Object> producer = open.producer;
        switch (op) {
            case "send":
                return send(command, open);
            case "send_and_get": {
                List<ObjectNode> results = new ArrayList<>();
                for (JsonNode fields : command.get("records")) {
                    results.add(described(producer.send(record(fields)).get(TIMEOUT_SECONDS, TimeUnit.SECONDS)));
                }
                return results;
            }
            case "send_from_threads":
                return sendFromThreads(command, open);
            case "await_reports":
                return open.await(command.get("count").asInt());
            case "flush":
                producer.flush();
                return true;
            case "close":
                if (command.hasNonNull("timeout_ms")) {
                    producer.close(Duration.ofMillis(command.get("timeout_ms").asLong()));
                } else {
                    producer.close();
                }
                return true;
            case "partitions_for":
                return producer.partitionsFor(command.get("topic").asText()).stream().map(found -> Map.of(
                    "topic", found.topic(), "partition", found.partition(), "leader", described(found.leader()),
                    "replicas", described(found.replicas()), "in_sync", described(found.inSyncReplicas()))).toList();
            case "metrics": {
                ArrayNode found = JSON.createArrayNode();
                producer.metrics().forEach((name, metric) -> found.addObject().put("group", name.group()).put("name", name.name())
                    .put("value", String.valueOf(metric.metricValue())).set("tags", JSON.valueToTree(name.tags())));
                return found;
            }
            case "init_transactions":
                producer.initTransactions();
                return true;
            case "begin_transaction":
                producer.beginTransaction();
                return true;
            case "send_offsets": {
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (JsonNode each : command.get("offsets")) {
                    TopicPartition partition = new TopicPartition(each.get(0).asText(), each.get(1).asInt());
                    offsets.put(partition, new OffsetAndMetadata(each.get(2).asLong()));
                }
                producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(command.get("group").asText()));
                return true;
            }
            case "commit_transaction":
                producer.commitTransaction();
                return true;
            case "abort_transaction":
                producer.abortTransaction();
                return true;
            default:
                throw new IllegalArgumentException("unknown operation " + command);
        }
    }

    // Keys and values of a partition as the named deserializers understand them.
    static Object read(JsonNode command) {
        ArrayNode found = JSON.createArrayNode();
        TopicPartition partition = new TopicPartition(command.get("topic").asText(), 0);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        try (KafkaConsumer<Object, Object> consumer = new KafkaConsumer<>(settings(command))) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (found.size() < command.get("count").asInt() && System.nanoTime() < deadline) {
                for (ConsumerRecord<Object, Object> record : consumer.poll(Duration.ofMillis(500))) {
                    found.addArray().addPOJO(record.key()).addPOJO(record.value());
                }
            }
        }
        return found;
    }

    // For each record: what send threw, and whether its future was done when send returned.
    static Object send(JsonNode command, Open open) {
        ArrayNode outcomes = JSON.createArrayNode();
        for (JsonNode fields : command.get("records")) {
            ObjectNode outcome = outcomes.addObject();
            long before = System.nanoTime();
            if (fields.path("interrupted").asBoolean()) {
                Thread.currentThread().interrupt();
            }
            try {
                Future<RecordMetadata> sent = open.send(record(fields), fields.path("note").asText());
                outcome.put("is_done", sent.isDone());
            } catch (Exception fault) {
                outcome.put("thrown", fault.getClass().getSimpleName());
            }
            Thread.interrupted();
            outcome.put("took_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before));
        }
        return outcomes;
    }

    static Object sendFromThreads(JsonNode command, Open open) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < command.get("threads").asInt(); number++) {
            String name = "thread-" + number;
            threads.add(new Thread(() -> {
                for (int index = 0; index < command.get("count").asInt(); index++) {
                    open.send(new ProducerRecord<>(command.get("topic").asText(), 0, name, String.valueOf(index)), "");
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(TIMEOUT_SECONDS));
        }
        return true;
    }

    // A record through each of its constructors, and what is refused.
    static Object recordForms(String topic) {
        List<ProducerRecord<String, String>> records = List.of(
            new ProducerRecord<>(topic, 1, 5L, "k", "v"), new ProducerRecord<>(topic, 1, "k", "v"),
            new ProducerRecord<>(topic, "k", "v"), new ProducerRecord<>(topic, "v"));
        ArrayNode forms = JSON.createArrayNode();
        for (ProducerRecord<String, String> each : records) {
            forms.addArray().add(each.topic()).add(each.partition()).add(each.timestamp()).add(each.key()).add(each.value());
        }
        List<Runnable> wrong = List.of(
            () -> new ProducerRecord<>(null, "v"), () -> new ProducerRecord<>(topic, -1, "k", "v"),
            () -> new ProducerRecord<>(topic, 1, -5L, "k", "v"));
        for (Runnable each : wrong) {
            try {
                each.run();
                forms.add("accepted");
            } catch (IllegalArgumentException refused) {
                forms.add("refused");
            }
        }
        return forms;
    }

    static ProducerRecord<Object, Object> record(JsonNode fields) {
        Integer partition = fields.hasNonNull("partition") ? fields.get("partition").asInt() : null;
        Long timestamp = fields.hasNonNull("timestamp_ms") ? fields.get("timestamp_ms").asLong() : null;
        return new ProducerRecord<>(fields.get("topic").asText(), partition, timestamp, typed(fields.path("key")), typed(fields.path("value")));
    }

    // {"long": 5} is a Long, "text" a String, {"map": {...}} a Map: what the serializer shall get.
    static Object typed(JsonNode given) {
        if (given.isNull() || given.isMissingNode()) {
            return null;
        }
        if (given.isTextual()) {
            return given.asText();
        }
        String type = given.fieldNames().next();
        JsonNode value = given.get(type);
        switch (type) {
            case "int": return value.asInt();
            case "long": return value.asLong();
            case "double": return value.asDouble();
            case "byte_array": return Base64.getDecoder().decode(value.asText());
            case "bytes": return Bytes.wrap(Base64.getDecoder().decode(value.asText()));
            case "map": return JSON.convertValue(value, Map.class);
            default: throw new IllegalArgumentException("unknown type " + type);
        }
    }

    static Properties settings(JsonNode command) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command.get("bootstrap").asText());
        settings.put("enable.metrics.push", "false");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        command.get("settings").fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        return settings;
    }

    static ObjectNode described(RecordMetadata metadata) {
        ObjectNode fields = JSON.createObjectNode().put("topic", metadata.topic()).put("partition", metadata.partition());
        fields.put("offset", metadata.hasOffset() ? metadata.offset() : null);
        fields.put("timestamp_ms", metadata.hasTimestamp() ? metadata.timestamp() : null);
        return fields.put("key_bytes", metadata.serializedKeySize()).put("value_bytes", metadata.serializedValueSize());
    }

    static List<String> described(Node... nodes) {
        List<String> found = new ArrayList<>();
        for (Node node : nodes) {
            found.add(node.id() + " " + node.host() + ":" + node.port());
        }
        return found;
    }

    // Where a plug-in writes down its calls: under the name in a setting that Kafka does not know.
    static void note(Map<String, ?> configs, String call) {
        String log = String.valueOf(configs.get("test.log"));
        CALLS.computeIfAbsent(log, name -> Collections.synchronizedList(new ArrayList<>())).add(call);
    }

    // Important stocks have the last partition for themselves; the others share the rest.
    public static final class StockPartitioner implements Partitioner {
        private Map<String, ?> configs;
        private List<String> important;

        @Override
        public void configure(Map<String, ?> given) {
            configs = given;
            important = List.of(String.valueOf(given.get("importantStocks")).split(","));
            note(configs, "configure " + given.get("importantStocks"));
        }

        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            int last = cluster.partitionsForTopic(topic).size() - 1;
            note(configs, "partition " + topic + " " + key + " " + keyBytes.length + " " + value + " " + valueBytes.length
                + " " + cluster.availablePartitionsForTopic(topic).size());
            return important.contains(key) ? last : Math.abs(key.hashCode()) % last;
        }

        @Override
        public void close() {
            note(configs, "close");
        }
    }

    // hash(n) = n
    public static final class NumberPartitioner implements Partitioner {
        @Override
        public void configure(Map<String, ?> configs) {}

        @Override
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            return (int) ((Long) key % cluster.partitionCountForTopic(topic));
        }

        @Override
        public void close() {}
    }

    // Adds its name to the value; two of them show the order of a chain.
    public abstract static class NamedInterceptor implements ProducerInterceptor<Object, Object> {
        private Map<String, ?> configs;

        @Override
        public void configure(Map<String, ?> given) {
            configs = given;
            note(configs, name() + " configure");
        }

        @Override
        public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
            note(configs, name() + " onSend " + record.value());
            return new ProducerRecord<>(record.topic(), record.partition(), record.key(), record.value() + "+" + name());
        }

        @Override
        public void onAcknowledgement(RecordMetadata metadata, Exception exception) {
            String outcome = exception == null ? "offset " + metadata.offset() : exception.getClass().getSimpleName();
            note(configs, name() + " onAcknowledgement " + outcome);
        }

        @Override
        public void close() {
            note(configs, name() + " close");
        }

        String name() {
            return getClass().getSimpleName().toLowerCase();
        }
    }

    public static final class First extends NamedInterceptor {}

    public static final class Second extends NamedInterceptor {}

    // An application's own fault: an order without its number.
    public static final class OrderWithoutNumber extends SerializationException {}

    // Orders are maps that must have a number; on the wire they are JSON.
    public static final class OrderSerializer implements Serializer<Map<String, Object>> {
        private Map<String, ?> configs;

        @Override
        public void configure(Map<String, ?> given, boolean isKey) {
            configs = given;
            note(configs, "configure " + (isKey ? "key" : "value"));
        }

        @Override
        public byte[] serialize(String topic, Map<String, Object> order) {
            note(configs, "serialize " + topic);
            if (order.get("number") == null) {
                throw new OrderWithoutNumber();
            }
            try {
                return JSON.writeValueAsBytes(order);
            } catch (Exception fault) {
                throw new SerializationException(fault);
            }
        }

        @Override
        public void close() {
            note(configs, "close");
        }
    }
}
