// Prints every setting that Apache Kafka declares, one per line and separated by tabs:
// kind, name, type, default, importance, update mode. Settings that Kafka calls internal are left out.
// With arguments key=value it prints instead whether Kafka takes each as a topic setting.

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

public class KafkaConfigs {
    public static void main(String[] arguments) {
        if (arguments.length > 0) {
            for (String argument : arguments) {
                String[] pair = argument.split("=", 2);
                System.out.println(accepts(pair[0], pair[1]) + "\t" + argument);
            }
            return;
        }
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        print("topic", LogConfig.configDefCopy(), name -> "-");
        print("group", GroupConfig.CONFIG_DEF, name -> "-");
        print("broker", kafka.server.KafkaConfig.configDef(),
            name -> modes.getOrDefault(name, "read-only"));
    }

    private static boolean accepts(String name, String value) {
        try {
            LogConfig.validate(Map.of(name, value));
            return true;
        } catch (RuntimeException refusal) {
            return false;
        }
    }

    private static void print(String kind, ConfigDef definition, Function<String, String> mode) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(definition.configKeys()).values()) {
            if (!key.internalConfig) {
                String value = key.hasDefault() && key.defaultValue != null
                    ? ConfigDef.convertToString(key.defaultValue, key.type) : "null";
                System.out.println(String.join("\t", kind, key.name, key.type.toString(), value,
                    key.importance.toString(), mode.apply(key.name)));
            }
        }
    }
}
