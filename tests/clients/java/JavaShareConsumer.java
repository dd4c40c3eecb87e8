import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A share consumer that takes COUNT records and says something different of each: it accepts the
 * first, releases the second, rejects the third, renews the lock of the fourth, and so on. What
 * comes again it accepts. Prints one line for each delivery, and one for each failed commit.
 *
 * java JavaShareConsumer.java BOOTSTRAP TOPIC GROUP COUNT
 */
public class JavaShareConsumer {
    private static final AcknowledgeType[] FIRST = {
        AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW
    };

    public static void main(String[] words) {
        int count = Integer.parseInt(words[3]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("group.id", words[2]);
        settings.put("share.acknowledgement.mode", "explicit");
        Map<Long, Integer> seen = new HashMap<>();
        TreeSet<Long> done = new TreeSet<>();
        long deadline = System.currentTimeMillis() + 30_000;
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(words[1]));
            while (done.size() < count && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    boolean isFirst = seen.merge((long) record.offset(), 1, Integer::sum) == 1;
                    AcknowledgeType type =
                        isFirst ? FIRST[(int) (record.offset() % FIRST.length)] : AcknowledgeType.ACCEPT;
                    consumer.acknowledge(record, type);
                    if (type == AcknowledgeType.ACCEPT || type == AcknowledgeType.REJECT) {
                        done.add(record.offset());
                    }
                    System.out.println(
                        record.offset() + " " + record.deliveryCount().orElse((short) -1) + " " + type);
                }
                consumer.commitSync().forEach((partition, fault) ->
                    fault.ifPresent(why -> System.out.println("failed " + partition + " " + why)));
            }
        }
    }
}
