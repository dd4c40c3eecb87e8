// Connect's own stores, asked about records: a question a line.
//   {"replay":[[key,value|null],…]}      -> what KafkaConfigBackingStore makes of them
//   {"statuses":[[key,value|null],…]}    -> what KafkaStatusBackingStore makes of them
//   {"json":value}                       -> base64 of the internal converter's bytes
//   {"write":path,"entries":[[k,v],…]}   -> FileOffsetBackingStore writes a file of base64 pairs
//   {"read":path}                        -> [[k,v],…] as it reads the file

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.RestartRequest;
import org.apache.kafka.connect.runtime.SessionKey;
import org.apache.kafka.connect.runtime.TopicStatus;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.storage.FileOffsetBackingStore;
import org.apache.kafka.connect.storage.KafkaConfigBackingStore;
import org.apache.kafka.connect.storage.KafkaStatusBackingStore;
import org.apache.kafka.connect.util.Callback;
import org.apache.kafka.connect.util.ConnectorTaskId;

public class State {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            System.out.flush();
        }
    }

    static Object answer(JsonNode asked) throws Exception {
        if (asked.has("replay")) {
            return replayed(asked.get("replay"));
        } else if (asked.has("statuses")) {
            return statuses(asked.get("statuses"));
        } else if (asked.has("json")) {
            Object value = JSON.convertValue(asked.get("json"), Object.class);
            return Base64.getEncoder().encodeToString(converter(false).fromConnectData("t", null, value));
        } else if (asked.has("write")) {
            FileOffsetBackingStore store = file(asked.get("write").asText());
            Map<ByteBuffer, ByteBuffer> entries = new HashMap<>();
            asked.get("entries").forEach(pair -> entries.put(bytes(pair.get(0)), bytes(pair.get(1))));
            store.set(entries, null).get();
            store.stop();
            return null;
        }
        FileOffsetBackingStore store = file(asked.get("read").asText());
        Field data = FileOffsetBackingStore.class.getSuperclass().getDeclaredField("data");
        data.setAccessible(true);
        List<Object> found = new ArrayList<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) data.get(store)).entrySet()) {
            List<String> pair = new ArrayList<>();
            pair.add(text((ByteBuffer) entry.getKey()));
            pair.add(text((ByteBuffer) entry.getValue()));
            found.add(pair);
        }
        store.stop();
        return found;
    }

    static ByteBuffer bytes(JsonNode text) {
        return text.isNull() ? null : ByteBuffer.wrap(Base64.getDecoder().decode(text.asText()));
    }

    static String text(ByteBuffer bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes.array());
    }

    static JsonConverter converter(boolean isKey) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), isKey);
        return converter;
    }

    static FileOffsetBackingStore file(String path) {
        FileOffsetBackingStore store = new FileOffsetBackingStore(converter(true));
        Map<String, String> settings = new HashMap<>();
        settings.put("bootstrap.servers", "localhost:1");
        settings.put("key.converter", "org.apache.kafka.connect.json.JsonConverter");
        settings.put("value.converter", "org.apache.kafka.connect.json.JsonConverter");
        settings.put("offset.storage.file.filename", path);
        store.configure(new StandaloneConfig(settings));
        store.start();
        return store;
    }

    static DistributedConfig distributed() {
        Map<String, String> settings = new HashMap<>();
        settings.put("bootstrap.servers", "localhost:1");
        settings.put("group.id", "g");
        settings.put("key.converter", "org.apache.kafka.connect.json.JsonConverter");
        settings.put("value.converter", "org.apache.kafka.connect.json.JsonConverter");
        for (String kind : List.of("config", "offset", "status")) {
            settings.put(kind + ".storage.topic", kind);
        }
        return new DistributedConfig(settings);
    }

    static Object replayed(JsonNode records) throws Exception {
        DistributedConfig config = distributed();
        Field cluster = config.getClass().getSuperclass().getDeclaredField("kafkaClusterId");
        cluster.setAccessible(true);
        cluster.set(config, "known");
        KafkaConfigBackingStore store = new KafkaConfigBackingStore(
            converter(false), config, null, () -> null, "client");
        List<Object> events = new ArrayList<>();
        store.setUpdateListener(listener(events));
        Field started = KafkaConfigBackingStore.class.getDeclaredField("started");
        started.setAccessible(true);
        started.set(store, true);
        Class<?> kind = Class.forName(KafkaConfigBackingStore.class.getName() + "$ConsumeCallback");
        Constructor<?> made = kind.getDeclaredConstructor(KafkaConfigBackingStore.class);
        made.setAccessible(true);
        @SuppressWarnings("unchecked")
        Callback<ConsumerRecord<String, byte[]>> callback =
            (Callback<ConsumerRecord<String, byte[]>>) made.newInstance(store);
        Method take = kind.getDeclaredMethod("onCompletion", Throwable.class, ConsumerRecord.class);
        take.setAccessible(true);
        long offset = 0;
        for (JsonNode record : records) {
            byte[] value = record.get(1).isNull() ? null : record.get(1).asText().getBytes(StandardCharsets.UTF_8);
            take.invoke(callback, null, new ConsumerRecord<>("config", 0, offset++, record.get(0).asText(), value));
        }
        Map<String, Object> told = new LinkedHashMap<>();
        ClusterConfigState state = store.snapshot();
        told.put("offset", state.offset());
        told.put("events", events);
        told.put("inconsistent", new TreeSet<>(state.inconsistentConnectors()));
        Map<String, Object> connectors = new TreeMap<>();
        for (String name : state.connectors()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("settings", state.rawConnectorConfig(name));
            one.put("state", String.valueOf(state.targetState(name)));
            one.put("tasks", state.tasks(name).stream().map(ConnectorTaskId::toString).toList());
            List<Object> tasks = new ArrayList<>();
            state.tasks(name).forEach(task -> tasks.add(state.rawTaskConfig(task)));
            one.put("task settings", tasks);
            one.put("fenced", state.taskCountRecord(name));
            one.put("pending", state.pendingFencing(name));
            one.put("generation", state.taskConfigGeneration(name));
            one.put("applied", state.appliedConnectorConfig(name));
            connectors.put(name, one);
        }
        told.put("connectors", connectors);
        return told;
    }

    static ConfigBackingStore.UpdateListener listener(List<Object> events) {
        return new ConfigBackingStore.UpdateListener() {
            public void onConnectorConfigRemove(String name) {
                events.add(List.of("removed", name));
            }
            public void onConnectorConfigUpdate(String name) {
                events.add(List.of("changed", name));
            }
            public void onTaskConfigUpdate(Collection<ConnectorTaskId> tasks) {
                events.add(List.of("tasks", new TreeSet<>(tasks.stream().map(ConnectorTaskId::toString).toList())));
            }
            public void onConnectorTargetStateChange(String name) {
                events.add(List.of("target", name));
            }
            public void onSessionKeyUpdate(SessionKey key) {
                events.add(List.of("key", Base64.getEncoder().encodeToString(key.key().getEncoded()),
                    key.key().getAlgorithm(), key.creationTimestamp()));
            }
            public void onRestartRequest(RestartRequest request) {
                events.add(List.of("restart", request.connectorName(), request.onlyFailed(), request.includeTasks()));
            }
            public void onLoggingLevelUpdate(String logger, String level) {
                events.add(List.of("logger", logger, level));
            }
        };
    }

    static Object statuses(JsonNode records) throws Exception {
        KafkaStatusBackingStore store = new KafkaStatusBackingStore(
            Time.SYSTEM, converter(false), () -> null, "client");
        Method read = KafkaStatusBackingStore.class.getDeclaredMethod("read", ConsumerRecord.class);
        read.setAccessible(true);
        for (JsonNode record : records) {
            byte[] value = record.get(1).isNull() ? null : record.get(1).asText().getBytes(StandardCharsets.UTF_8);
            read.invoke(store, new ConsumerRecord<>("status", 0, 0, record.get(0).asText(), value));
        }
        Map<String, Object> told = new LinkedHashMap<>();
        Map<String, Object> connectors = new TreeMap<>();
        for (String name : store.connectors()) {
            connectors.put(name, String.valueOf(store.get(name)));
        }
        told.put("connectors", connectors);
        Map<String, Object> tasks = new TreeMap<>();
        Map<String, Object> topics = new TreeMap<>();
        for (String name : List.of("a", "b-0", "c")) {
            tasks.put(name, new TreeSet<>(store.getAll(name).stream().map(String::valueOf).toList()));
            TreeSet<String> used = new TreeSet<>();
            for (TopicStatus topic : store.getAllTopics(name)) {
                used.add(topic.topic() + " " + topic.connector() + " " + topic.task() + " " + topic.discoverTimestamp());
            }
            topics.put(name, used);
        }
        told.put("tasks", tasks);
        told.put("topics", topics);
        return told;
    }
}
