// Consumers of the Java client as the tests drive them: one JSON command per line in, one JSON
// answer per line out (see drivers/program.py). A consumer has a name and lives until it is closed,
// so that a test can let several of them take turns in one group.

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
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configurator;

public final class JavaConsumer {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long TIMEOUT_SECONDS = 30;
    static final Duration TURN = Duration.ofMillis(20);
    static final Map<String, Named> CONSUMERS = new HashMap<>();
    static final List<Object> EVENTS = new ArrayList<>(); // of serializers and interceptors

    public static void main(String[] args) throws Exception {
        // Serializers and interceptors of this file are found by name through this.
        Thread.currentThread().setContextClassLoader(JavaConsumer.class.getClassLoader());
        // What the client itself has to say goes to stderr, where a test can read it.
        LoggerContext logging = (LoggerContext) LogManager.getContext(KafkaConsumer.class.getClassLoader(), false);
        for (String talker : List.of("clients.consumer", "common.config.AbstractConfig", "common.utils.AppInfoParser")) {
            Configurator.setLevel(logging.getLogger("org.apache.kafka." + talker), Level.INFO);
        }
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
        String op = command.get("op").asText();
        switch (op) {
            case "open":
                CONSUMERS.put(command.get("name").asText(), new Named(command));
                return true;
            case "defaults":
                return defaults(command);
            case "plugin_events": {
                List<Object> told = new ArrayList<>(EVENTS);
                EVENTS.clear();
                return told;
            }
            case "poll":
                return poll(command);
            case "describe_groups":
                return describeGroups(command);
            case "kafka_consumer_groups":
                return groupsTool(command);
            default:
                return CONSUMERS.get(command.get("name").asText()).carryOut(op, command);
        }
    }

    // Let the named consumers take turns until they have so many records in all, and so many
    // partitions each, whoever of them has which.
    static Object poll(JsonNode command) {
        Map<String, ArrayNode> found = new LinkedHashMap<>();
        command.get("names").forEach(name -> found.put(name.asText(), JSON.createArrayNode()));
        int wantedRecords = command.path("records").asInt(0);
        List<Integer> wantedPartitions = new ArrayList<>();
        command.path("partitions").forEach(count -> wantedPartitions.add(count.asInt()));
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(command.get("timeout_ms").asLong());
        boolean done = false;
        while (!done) {
            for (Map.Entry<String, ArrayNode> each : found.entrySet()) {
                for (ConsumerRecord<Object, Object> record : CONSUMERS.get(each.getKey()).consumer.poll(TURN)) {
                    describe(record, each.getValue().addObject());
                }
            }
            boolean enough = found.values().stream().mapToInt(ArrayNode::size).sum() >= wantedRecords;
            List<Integer> counts = found.keySet().stream().map(name -> CONSUMERS.get(name).consumer.assignment().size()).sorted().toList();
            enough &= wantedPartitions.isEmpty() || wantedPartitions.equals(counts);
            done = enough || System.nanoTime() > deadline;
        }
        return found;
    }

    static void describe(ConsumerRecord<?, ?> record, ObjectNode fields) {
        fields.put("topic", record.topic()).put("partition", record.partition());
        fields.put("offset", record.offset()).put("timestamp_ms", record.timestamp());
        fields.set("key", JSON.valueToTree(record.key()));
        fields.set("value", JSON.valueToTree(record.value()));
    }

    static Object defaults(JsonNode command) {
        Map<String, Object> wanted = new TreeMap<>();
        Map<String, Object> values = ConsumerConfig.configDef().defaultValues();
        command.get("keys").forEach(key -> wanted.put(key.asText(), String.valueOf(values.get(key.asText()))));
        return wanted;
    }

    static Object describeGroups(JsonNode command) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", command.get("bootstrap").asText()))) {
            List<String> groups = new ArrayList<>();
            command.get("groups").forEach(group -> groups.add(group.asText()));
            admin.describeConsumerGroups(groups).all().get(TIMEOUT_SECONDS, TimeUnit.SECONDS).forEach((name, group) -> {
                List<Object> members = new ArrayList<>();
                group.members().forEach(member -> members.add(Map.of(
                    "partitions", pairs(member.assignment().topicPartitions()),
                    "instance", member.groupInstanceId().orElse(""))));
                found.put(name, Map.of(
                    "state", group.groupState().toString(), "type", group.type().toString(),
                    "assignor", group.partitionAssignor(), "coordinator", group.coordinator().id(),
                    "members", members));
            });
        }
        return found;
    }

    // Kafka's own tool inside this process: what it prints is the answer.
    static String groupsTool(JsonNode command) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            List<String> words = new ArrayList<>(List.of("--bootstrap-server", command.get("bootstrap").asText()));
            command.get("arguments").forEach(word -> words.add(word.asText()));
            ConsumerGroupCommand.main(words.toArray(String[]::new));
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    static List<TopicPartition> partitions(JsonNode pairs) {
        List<TopicPartition> found = new ArrayList<>();
        pairs.forEach(pair -> found.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt())));
        return found;
    }

    static List<Object> pairs(Collection<TopicPartition> partitions) {
        List<Object> found = new ArrayList<>();
        partitions.stream()
            .sorted((a, b) -> a.topic().equals(b.topic()) ? a.partition() - b.partition() : a.topic().compareTo(b.topic()))
            .forEach(each -> found.add(List.of(each.topic(), each.partition())));
        return found;
    }

    /** A consumer with what its callbacks were told. */
    static final class Named implements ConsumerRebalanceListener {
        final Consumer<Object, Object> consumer;
        final List<Object> events = new ArrayList<>();
        boolean commitsOnRevoke;

        Named(JsonNode command) {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", command.get("bootstrap").asText());
            settings.put("enable.metrics.push", "false");
            for (Map.Entry<String, JsonNode> setting : command.get("settings").properties()) {
                settings.put(setting.getKey(), setting.getValue().asText());
            }
            consumer = new KafkaConsumer<>(settings);
        }

        Object carryOut(String op, JsonNode command) throws Exception {
            List<TopicPartition> partitions = partitions(command.path("partitions"));
            switch (op) {
                case "subscribe":
                    return subscribe(command);
                case "assign":
                    consumer.assign(partitions);
                    return true;
                case "unsubscribe":
                    consumer.unsubscribe();
                    return true;
                case "assignment":
                    return pairs(consumer.assignment());
                case "subscription":
                    return consumer.subscription();
                case "poll_once":
                    return pollOnce(command);
                case "commit_sync":
                    if (command.has("offsets")) {
                        consumer.commitSync(offsets(command.get("offsets")));
                    } else {
                        consumer.commitSync();
                    }
                    return true;
                case "commit_async":
                    return commitAsync(command);
                case "committed": {
                    List<Object> found = new ArrayList<>();
                    Map<TopicPartition, OffsetAndMetadata> known = consumer.committed(Map.copyOf(numbered(partitions)).keySet());
                    partitions.forEach(each -> found.add(known.get(each) == null ? null : known.get(each).offset()));
                    return found;
                }
                case "position":
                    return partitions.stream().map(consumer::position).toList();
                case "seek":
                    consumer.seek(partitions.get(0), command.get("offset").asLong());
                    return true;
                case "seek_to_beginning":
                    consumer.seekToBeginning(partitions);
                    return true;
                case "seek_to_end":
                    consumer.seekToEnd(partitions);
                    return true;
                case "pause":
                    consumer.pause(partitions);
                    return pairs(consumer.paused());
                case "resume":
                    consumer.resume(partitions);
                    return pairs(consumer.paused());
                case "partitions_for":
                    return consumer.partitionsFor(command.get("topic").asText()).stream()
                        .map(each -> List.of(each.partition(), each.leader().id())).toList();
                case "offset_for_time": {
                    long time = command.get("timestamp_ms").asLong();
                    OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partitions.get(0), time)).get(partitions.get(0));
                    return found == null ? null : found.offset();
                }
                case "lag":
                    return consumer.currentLag(partitions.get(0)).orElse(-1);
                case "wakeup_during_poll":
                    return wakeupDuringPoll();
                case "use_from_two_threads":
                    return useFromTwoThreads();
                case "events": {
                    List<Object> told = new ArrayList<>(events);
                    events.clear();
                    return told;
                }
                case "close":
                    consumer.close();
                    CONSUMERS.values().remove(this);
                    return true;
                default:
                    throw new IllegalArgumentException("unknown operation " + command);
            }
        }

        Object subscribe(JsonNode command) {
            commitsOnRevoke = command.path("commit_on_revoke").asBoolean();
            boolean listening = command.path("listener").asBoolean();
            if (command.has("pattern")) {
                Pattern pattern = Pattern.compile(command.get("pattern").asText());
                if (listening) {
                    consumer.subscribe(pattern, this);
                } else {
                    consumer.subscribe(pattern);
                }
                return true;
            }
            if (command.has("re2")) {
                consumer.subscribe(new SubscriptionPattern(command.get("re2").asText()), this);
                return true;
            }
            List<String> topics = new ArrayList<>();
            command.get("topics").forEach(topic -> topics.add(topic.asText()));
            if (listening) {
                consumer.subscribe(topics, this);
            } else {
                consumer.subscribe(topics);
            }
            return true;
        }

        // One call of poll, with what ConsumerRecords tells about its outcome.
        Object pollOnce(JsonNode command) {
            long before = System.nanoTime();
            ConsumerRecords<Object, Object> records = consumer.poll(Duration.ofMillis(command.get("timeout_ms").asLong()));
            long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - before);
            ArrayNode iterated = JSON.createArrayNode();
            records.forEach(record -> describe(record, iterated.addObject()));
            return Map.of("count", records.count(), "partitions", pairs(records.partitions()), "records", iterated, "took_ms", tookMs);
        }

        Object commitAsync(JsonNode command) {
            org.apache.kafka.clients.consumer.OffsetCommitCallback told = (offsets, fault) -> {
                Map<String, Object> event = new TreeMap<>();
                offsets.forEach((partition, offset) -> event.put(partition.toString(), offset.offset()));
                events.add(List.of("committed", event, fault == null ? "" : fault.toString()));
            };
            if (command.has("offsets")) {
                consumer.commitAsync(offsets(command.get("offsets")), told);
            } else {
                consumer.commitAsync(told);
            }
            return true;
        }

        // The main thread waits in a poll that nothing but the other thread can end.
        Object wakeupDuringPoll() throws Exception {
            CompletableFuture<Void> other = CompletableFuture.runAsync(consumer::wakeup, CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS));
            try {
                consumer.poll(Duration.ofSeconds(TIMEOUT_SECONDS));
                return "poll ended by itself";
            } catch (org.apache.kafka.common.errors.WakeupException woken) {
                return woken.getClass().getSimpleName();
            } finally {
                other.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            }
        }

        // While one thread is in poll, another asks something: whoever comes second is refused.
        Object useFromTwoThreads() throws Exception {
            CompletableFuture<String> polling = CompletableFuture.supplyAsync(() -> {
                try {
                    consumer.poll(Duration.ofSeconds(TIMEOUT_SECONDS));
                    return "poll ended by itself";
                } catch (org.apache.kafka.common.errors.WakeupException woken) {
                    return "woken"; // by the other thread, which was refused
                } catch (java.util.ConcurrentModificationException refused) {
                    return refused.getClass().getSimpleName();
                }
            });
            try {
                while (!polling.isDone()) {
                    consumer.assignment();
                    Thread.onSpinWait();
                }
                return polling.get();
            } catch (java.util.ConcurrentModificationException refused) {
                consumer.wakeup();
                polling.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
                return refused.getClass().getSimpleName();
            }
        }

        static Map<TopicPartition, Integer> numbered(List<TopicPartition> partitions) {
            Map<TopicPartition, Integer> found = new HashMap<>();
            partitions.forEach(each -> found.put(each, found.size()));
            return found;
        }

        static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode triples) {
            Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
            triples.forEach(each -> found.put(
                new TopicPartition(each.get(0).asText(), each.get(1).asInt()), new OffsetAndMetadata(each.get(2).asLong())));
            return found;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            events.add(List.of("revoked", pairs(partitions)));
            if (commitsOnRevoke) {
                consumer.commitSync();
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            events.add(List.of("assigned", pairs(partitions)));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            events.add(List.of("lost", pairs(partitions)));
        }
    }

    /** Upper-cases text, and tells what of its interface was called. */
    public static final class LoudDeserializer implements Deserializer<String> {
        private String suffix = "";

        @Override
        public void configure(Map<String, ?> configs, boolean isKey) {
            suffix = String.valueOf(configs.get("loud.suffix"));
            EVENTS.add(List.of("configure", isKey, suffix));
        }

        @Override
        public String deserialize(String topic, byte[] data) {
            EVENTS.add(List.of("deserialize", topic));
            return data == null ? null : new String(data, StandardCharsets.UTF_8).toUpperCase() + suffix;
        }

        @Override
        public void close() {
            EVENTS.add(List.of("close"));
        }
    }

    /** Drops records whose value is "drop", and tells what of its interface was called. */
    public static final class Sieve implements ConsumerInterceptor<Object, Object> {
        @Override
        public void configure(Map<String, ?> configs) {
            EVENTS.add(List.of("configure", String.valueOf(configs.get("group.id"))));
        }

        @Override
        public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
            Map<TopicPartition, List<ConsumerRecord<Object, Object>>> kept = new HashMap<>();
            for (TopicPartition partition : records.partitions()) {
                kept.put(partition, records.records(partition).stream().filter(each -> !"drop".equals(each.value())).toList());
            }
            return new ConsumerRecords<>(kept, records.nextOffsets());
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            offsets.forEach((partition, offset) -> EVENTS.add(List.of("commit", offset.offset())));
        }

        @Override
        public void close() {
            EVENTS.add(List.of("close"));
        }
    }
}
