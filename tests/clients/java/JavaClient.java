// The Java client as the tests drive it: one JSON command per line in, one JSON answer per line
// out (see drivers/program.py). Consumers are assigned by hand; no group is ever joined.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.tools.DumpLogSegments;

@SuppressWarnings("unchecked")
public final class JavaClient {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long TIMEOUT_SECONDS = 30;
    static final Map<String, Admin> ADMINS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", JSON.valueToTree(carryOut(JSON.readTree(line))));
            } catch (Exception fault) {
                Throwable cause = fault instanceof ExecutionException ? fault.getCause() : fault;
                int code = cause instanceof ApiException ? Errors.forException(cause).code() : -1;
                answer.put("error", code).put("message", String.valueOf(cause));
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static Object carryOut(JsonNode command) throws Exception {
        String topic = command.path("topic").asText();
        TopicPartition partition = new TopicPartition(topic, command.path("partition").asInt());
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        if (command.get("op").asText().equals("dump_log")) {
            return dumpLog(command.get("arguments"));
        }
        Admin admin = admin(command);
        switch (command.get("op").asText()) {
            case "create_topic": {
                Map<String, String> config = JSON.convertValue(command.get("config"), Map.class);
                NewTopic wanted = new NewTopic(topic, Optional.of(command.get("partitions").asInt()), Optional.empty());
                return done(admin.createTopics(List.of(wanted.configs(config))).all());
            }
            case "create_partitions": {
                NewPartitions wanted = NewPartitions.increaseTo(command.get("total").asInt());
                return done(admin.createPartitions(Map.of(topic, wanted)).all());
            }
            case "delete_topic":
                return done(admin.deleteTopics(List.of(topic)).all());
            case "partition_counts": {
                Map<String, Integer> counts = new HashMap<>();
                // describeTopics asks with DescribeTopicPartitions (KIP-966) where a broker has it.
                await(admin.describeTopics(await(admin.listTopics().names())).allTopicNames())
                    .forEach((name, found) -> counts.put(name, found.partitions().size()));
                return counts;
            }
            case "topic_config":
                return values(await(admin.describeConfigs(List.of(resource)).all()).get(resource).entries());
            case "alter_topic_config": {
                ConfigEntry entry = new ConfigEntry(command.get("name").asText(), command.get("value").asText());
                List<AlterConfigOp> change = List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET));
                return done(admin.incrementalAlterConfigs(Map.of(resource, change)).all());
            }
            case "delete_records": {
                RecordsToDelete until = RecordsToDelete.beforeOffset(command.get("before_offset").asLong());
                return await(admin.deleteRecords(Map.of(partition, until)).lowWatermarks().get(partition)).lowWatermark();
            }
            case "describe_cluster":
                return Map.of(
                    "cluster_id", await(admin.describeCluster().clusterId()),
                    "nodes", await(admin.describeCluster().nodes()).stream().map(node -> node.host() + ":" + node.port()).toList());
            case "log_dirs":
                return logDirs(admin, partition);
            case "produce":
                return produce(command, command.get("partition").asInt()).stream().map(RecordMetadata::offset).toList();
            case "partitions_of_keys":
                return produce(command, null).stream().map(RecordMetadata::partition).toList();
            case "write_in_transactions":
                return writeInTransactions(command, partition);
            case "read":
                return read(command, partition);
            case "offset_for_time":
                try (KafkaConsumer<byte[], byte[]> consumer = consumer(command)) {
                    long time = command.get("timestamp_ms").asLong();
                    OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, time)).get(partition);
                    return found == null ? null : found.offset();
                }
            default:
                throw new IllegalArgumentException("unknown operation " + command);
        }
    }

    static List<RecordMetadata> produce(JsonNode command, Integer partition) throws Exception {
        Properties settings = settings(command);
        settings.put("compression.type", command.path("codec").asText("none"));
        settings.put("acks", command.path("acks").asText("-1"));
        settings.put("enable.idempotence", command.path("idempotent").asBoolean());
        settings.put("linger.ms", "20");
        settings.put("max.request.size", String.valueOf(1 << 20));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(settings)) {
            for (JsonNode record : command.get("records")) {
                sent.add(producer.send(record(command.get("topic").asText(), partition, record)));
            }
            producer.flush();
            List<RecordMetadata> results = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) {
                results.add(each.get(TIMEOUT_SECONDS, TimeUnit.SECONDS));
            }
            return results;
        }
    }

    // Each transaction says whether it commits or aborts.
    static Object writeInTransactions(JsonNode command, TopicPartition partition) throws Exception {
        Properties settings = settings(command);
        settings.put("transactional.id", command.get("transactional_id").asText());
        settings.put("compression.type", command.path("codec").asText("none"));
        try (KafkaProducer<byte[], byte[]> producer = producer(settings)) {
            producer.initTransactions();
            for (JsonNode transaction : command.get("transactions")) {
                producer.beginTransaction();
                for (JsonNode record : transaction.get("records")) {
                    producer.send(record(partition.topic(), partition.partition(), record));
                }
                producer.flush();
                if (transaction.get("commit").asBoolean()) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        return true;
    }

    static ProducerRecord<byte[], byte[]> record(String topic, Integer partition, JsonNode fields) {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : fields.get("headers")) {
            headers.add(new RecordHeader(header.get(0).asText(), decoded(header.get(1))));
        }
        long timestamp = fields.get("timestamp_ms").asLong();
        return new ProducerRecord<>(topic, partition, timestamp, decoded(fields.get("key")), decoded(fields.get("value")), headers);
    }

    static Object read(JsonNode command, TopicPartition partition) {
        ArrayNode found = JSON.createArrayNode();
        int count = command.get("count").asInt();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(command)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, command.get("offset").asLong());
            while (found.size() < count && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    if (found.size() < count) {
                        describe(record, found.addObject());
                    }
                }
            }
        }
        return found;
    }

    static void describe(ConsumerRecord<byte[], byte[]> record, ObjectNode fields) {
        fields.put("offset", record.offset()).put("timestamp_ms", record.timestamp());
        fields.put("key", encoded(record.key())).put("value", encoded(record.value()));
        ArrayNode headers = fields.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(encoded(header.value()));
        }
    }

    static Map<String, String> values(Iterable<ConfigEntry> entries) {
        Map<String, String> values = new HashMap<>();
        entries.forEach(entry -> values.put(entry.name(), entry.value()));
        return values;
    }

    static Object logDirs(Admin admin, TopicPartition partition) throws Exception {
        int node = await(admin.describeCluster().nodes()).iterator().next().id();
        Map<String, Long> sizes = new HashMap<>();
        await(admin.describeLogDirs(List.of(node)).allDescriptions()).get(node).forEach((path, folder) -> {
            if (folder.replicaInfos().containsKey(partition)) {
                sizes.put(path, folder.replicaInfos().get(partition).size());
            }
        });
        return sizes;
    }

    // Kafka's own tool inside this process: what it prints is the answer.
    static String dumpLog(JsonNode words) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            DumpLogSegments.main(JSON.convertValue(words, String[].class));
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    static Admin admin(JsonNode command) {
        return ADMINS.computeIfAbsent(command.get("bootstrap").asText(), bootstrap -> Admin.create(settings(command)));
    }

    static KafkaProducer<byte[], byte[]> producer(Properties settings) {
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static KafkaConsumer<byte[], byte[]> consumer(JsonNode command) {
        Properties settings = settings(command);
        settings.put("isolation.level", command.path("isolation").asText("read_uncommitted"));
        settings.put("auto.offset.reset", "none");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static Properties settings(JsonNode command) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command.get("bootstrap").asText());
        settings.put("enable.metrics.push", "false");
        return settings;
    }

    static boolean done(Future<?> future) throws Exception {
        await(future);
        return true;
    }

    static <T> T await(Future<T> future) throws Exception {
        return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    static String encoded(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }

    static byte[] decoded(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }
}
