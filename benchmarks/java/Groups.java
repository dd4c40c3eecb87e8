import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Members of groups, and transactions of one record.
 *
 * <p>Usage: {@code Groups join|transactions key=value ...}. Prints GO when it is warm and waits for
 * a line on standard input; prints one line of JSON at the end.
 */
public final class Groups {
    private static final Duration POLL = Duration.ofMillis(5);
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final Map<String, String> options = new HashMap<>();

    private Groups(String[] arguments) {
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] pair = argument.split("=", 2);
            options.put(pair[0], pair[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Groups groups = new Groups(arguments);
        switch (arguments[0]) {
            case "join" -> groups.join();
            case "transactions" -> groups.transactions();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** From subscribe to the first record, then until a second member has its share. */
    private void join() throws IOException {
        int rounds = Integer.parseInt(options.get("rounds"));
        int warmup = Integer.parseInt(options.get("warmup"));
        int partitions = Integer.parseInt(options.get("partitions"));
        long[] first = new long[rounds];
        long[] second = new long[rounds];
        for (int i = -warmup; i < rounds; i++) {
            if (i == 0) {
                waitForGo();
            }
            String group = "bench-" + UUID.randomUUID();
            try (KafkaConsumer<byte[], byte[]> one = consumer(group);
                    KafkaConsumer<byte[], byte[]> two = consumer(group)) {
                long began = System.nanoTime();
                one.subscribe(List.of(options.get("topic")));
                while (one.poll(POLL).isEmpty()) {
                    checkPatience(began);
                }
                long joined = System.nanoTime();
                two.subscribe(List.of(options.get("topic")));
                while (one.assignment().size() != partitions / 2
                        || two.assignment().size() != partitions / 2) {
                    one.poll(POLL);
                    two.poll(POLL);
                    checkPatience(joined);
                }
                if (i >= 0) {
                    first[i] = joined - began;
                    second[i] = System.nanoTime() - joined;
                }
            }
        }
        Arrays.sort(first);
        Arrays.sort(second);
        System.out.printf(
                Locale.ROOT,
                "{\"first_ms\": %.3f, \"second_ms\": %.3f}%n",
                first[rounds / 2] / 1e6, second[rounds / 2] / 1e6);
    }

    /** One record, one commit, and again. */
    private void transactions() throws IOException {
        int count = Integer.parseInt(options.get("count"));
        int warmup = Integer.parseInt(options.get("warmup"));
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("transactional.id", "bench-" + UUID.randomUUID());
        properties.put("linger.ms", "0");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(
                        properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            long began = 0;
            for (int i = -warmup; i < count; i++) {
                if (i == 0) {
                    waitForGo();
                    began = System.nanoTime();
                }
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(options.get("topic"), 0, null, new byte[100]));
                producer.commitTransaction();
            }
            System.out.printf(
                    Locale.ROOT, "{\"seconds\": %.6f}%n", (System.nanoTime() - began) / 1e9);
        }
    }

    private static void checkPatience(long began) {
        if (System.nanoTime() - began > PATIENCE_NANOS) {
            throw new IllegalStateException("the group did not settle within a minute");
        }
    }

    private static void waitForGo() throws IOException {
        System.out.println("GO");
        System.out.flush();
        System.in.read();
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("group.id", group);
        properties.put("group.protocol", options.get("protocol"));
        properties.put("auto.offset.reset", "earliest");
        if (options.get("protocol").equals("classic")) {
            properties.put("heartbeat.interval.ms", options.get("heartbeat"));
        }
        return new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
