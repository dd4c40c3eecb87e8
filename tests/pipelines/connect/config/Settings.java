// Connect's own settings: a question a line.
//   {"definitions":"standalone"|"distributed"}    -> [[name,type,default,importance,required]]
//   {"resolve":settings,"worker":settings}         -> settings with the values of their references
//   {"source":settings,"topics":[name]}            -> {"groups":[[topic,group,partitions,replicas,settings]]}
//                                                     or {"error":message}

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigTransformer;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.runtime.SourceConnectorConfig;
import org.apache.kafka.connect.runtime.distributed.Crypto;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.util.TopicCreationGroup;

public class Settings {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Plugins PLUGINS = new Plugins(Map.of("plugin.discovery", "service_load"));

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            System.out.flush();
        }
    }

    static Map<String, String> settings(JsonNode told) {
        return JSON.convertValue(told, new TypeReference<Map<String, String>>() { });
    }

    static Object answer(JsonNode asked) throws Exception {
        if (asked.has("definitions")) {
            return definitions(asked.get("definitions").asText());
        } else if (asked.has("resolve")) {
            return resolved(settings(asked.get("resolve")), settings(asked.get("worker")));
        }
        return topics(settings(asked.get("source")), asked.get("topics"));
    }

    static Object definitions(String kind) throws Exception {
        ConfigDef found;
        if (kind.equals("standalone")) {
            Field field = StandaloneConfig.class.getDeclaredField("CONFIG");
            field.setAccessible(true);
            found = (ConfigDef) field.get(null);
        } else {
            Method method = DistributedConfig.class.getDeclaredMethod("config", Crypto.class);
            method.setAccessible(true);
            found = (ConfigDef) method.invoke(null, Crypto.SYSTEM);
        }
        List<Object> told = new ArrayList<>();
        for (ConfigDef.ConfigKey key : found.configKeys().values()) {
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            told.add(Arrays.asList(key.name, key.type.toString(), value, key.importance.toString(), !key.hasDefault()));
        }
        return told;
    }

    static Object resolved(Map<String, String> settings, Map<String, String> worker) throws Exception {
        Map<String, ConfigProvider> providers = new HashMap<>();
        for (String name : worker.getOrDefault("config.providers", "").split(",")) {
            String prefix = "config.providers." + name + ".";
            ConfigProvider provider = (ConfigProvider) Class.forName(worker.get(prefix + "class"))
                .getDeclaredConstructor().newInstance();
            Map<String, Object> parameters = new HashMap<>();
            worker.forEach((key, value) -> {
                if (key.startsWith(prefix + "param.")) {
                    parameters.put(key.substring((prefix + "param.").length()), value);
                }
            });
            provider.configure(parameters);
            providers.put(name, provider);
        }
        try {
            return new ConfigTransformer(providers).transform(settings).data();
        } catch (ConfigException fault) {
            return Map.of("error", fault.getMessage());
        }
    }

    static Object topics(Map<String, String> settings, JsonNode names) {
        try {
            SourceConnectorConfig config = new SourceConnectorConfig(PLUGINS, settings, true);
            Map<String, TopicCreationGroup> groups = TopicCreationGroup.configuredGroups(config);
            List<Object> told = new ArrayList<>();
            for (JsonNode name : names) {
                String topic = name.asText();
                TopicCreationGroup found = groups.values().stream()
                    .filter(group -> group.matches(topic)).findFirst().orElse(null);
                if (found == null) {
                    continue;
                }
                NewTopic made = found.newTopic(topic);
                told.add(Arrays.asList(topic, made.numPartitions(), (int) made.replicationFactor(),
                    new TreeMap<>(made.configs())));
            }
            return Map.of("groups", told);
        } catch (ConfigException fault) {
            return Map.of("error", fault.getMessage());
        }
    }
}
