import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What Kafka's own performance tools do not measure: reading with assigned partitions, without a
 * consumer group, and end-to-end latency in microseconds.
 *
 * <p>Usage: {@code Clients consume|e2e key=value ...}. Prints GO when it is warm and waits for a
 * line on standard input, so that the caller can read the broker's CPU time first; prints one line
 * of JSON at the end. Every client setting that is not named here has Kafka's default.
 */
public final class Clients {
    private static final Duration POLL = Duration.ofSeconds(30);

    private final Map<String, String> options = new HashMap<>();

    private Clients(String[] arguments) {
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] pair = argument.split("=", 2);
            options.put(pair[0], pair[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Clients clients = new Clients(arguments);
        switch (arguments[0]) {
            case "consume" -> clients.consume();
            case "e2e" -> clients.endToEnd();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Reads the topic from its beginning, twice: a part to warm the machine up, then for time. */
    private void consume() throws IOException {
        long records = Long.parseLong(options.get("records"));
        long warmup = Long.parseLong(options.get("warmup"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(options.get("topic"))) {
                partitions.add(new TopicPartition(info.topic(), info.partition()));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            read(consumer, warmup);
            consumer.seekToBeginning(partitions);
            partitions.forEach(consumer::position);
            waitForGo();
            long began = System.nanoTime();
            long[] seen = read(consumer, records);
            double seconds = (System.nanoTime() - began) / 1e9;
            System.out.printf(
                    Locale.ROOT,
                    "{\"records\": %d, \"bytes\": %d, \"seconds\": %.6f}%n",
                    seen[0], seen[1], seconds);
        }
    }

    /** Reads at least so many records; returns how many, and the bytes of their values. */
    private static long[] read(KafkaConsumer<byte[], byte[]> consumer, long records) {
        long count = 0;
        long bytes = 0;
        while (count < records) {
            var polled = consumer.poll(POLL);
            if (polled.isEmpty()) {
                throw new IllegalStateException("no records for 30 s after " + count);
            }
            for (ConsumerRecord<byte[], byte[]> record : polled) {
                bytes += record.value().length;
            }
            count += polled.count();
        }
        return new long[] {count, bytes};
    }

    /** One record at a time: from before its send until a consumer that waits for it has it. */
    private void endToEnd() throws Exception {
        int count = Integer.parseInt(options.get("count"));
        int warmup = Integer.parseInt(options.get("warmup"));
        byte[] value = new byte[Integer.parseInt(options.get("size"))];
        TopicPartition partition = new TopicPartition(options.get("topic"), 0);
        long[] nanos = new long[count];
        try (KafkaProducer<byte[], byte[]> producer = producer();
                KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            consumer.position(partition);
            for (int i = -warmup; i < count; i++) {
                if (i == 0) {
                    waitForGo();
                }
                long began = System.nanoTime();
                producer.send(new ProducerRecord<>(partition.topic(), 0, null, value)).get();
                if (consumer.poll(POLL).isEmpty()) {
                    throw new IllegalStateException("a record did not arrive within 30 s");
                }
                if (i >= 0) {
                    nanos[i] = System.nanoTime() - began;
                }
            }
        }
        Arrays.sort(nanos);
        System.out.printf(
                Locale.ROOT,
                "{\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f}%n",
                quantile(nanos, 0.5), quantile(nanos, 0.99), quantile(nanos, 0.999));
    }

    private static double quantile(long[] sorted, double part) {
        return sorted[Math.min(sorted.length - 1, (int) (part * sorted.length))] / 1e6;
    }

    private static void waitForGo() throws IOException {
        System.out.println("GO");
        System.out.flush();
        System.in.read();
    }

    private KafkaProducer<byte[], byte[]> producer() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("acks", "all");
        properties.put("linger.ms", "0");
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
