// A source connector whose settings have every trait that a form shows, for recordings of the REST API.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigDef.Width;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

public class RecordedSource extends SourceConnector {
    private Map<String, String> settings;

    static class Modes implements ConfigDef.Recommender {
        public List<Object> validValues(String name, Map<String, Object> parsed) {
            return List.of("bulk", "incrementing");
        }
        public boolean visible(String name, Map<String, Object> parsed) {
            return true;
        }
    }

    static class WhenIncrementing implements ConfigDef.Recommender {
        public List<Object> validValues(String name, Map<String, Object> parsed) {
            return List.of();
        }
        public boolean visible(String name, Map<String, Object> parsed) {
            return "incrementing".equals(parsed.get("mode"));
        }
    }

    public ConfigDef config() {
        return new ConfigDef()
            .define("file", Type.STRING, null, Importance.HIGH, "A file.")
            .define("topic", Type.STRING, ConfigDef.NO_DEFAULT_VALUE, new ConfigDef.NonEmptyString(),
                Importance.HIGH, "A topic.")
            .define("batch.size", Type.INT, 2000, ConfigDef.Range.atLeast(1), Importance.LOW, "Rows.")
            .define("mode", Type.STRING, "bulk", ConfigDef.ValidString.in("bulk", "incrementing"),
                Importance.MEDIUM, "A mode.", "Reading", 1, Width.SHORT, "Mode", List.of("column"),
                new Modes())
            .define("column", Type.STRING, "", Importance.MEDIUM, "A column.", "Reading", 2,
                Width.LONG, "Column", new WhenIncrementing())
            .define("secret", Type.PASSWORD, null, Importance.LOW, "A password.")
            .define("ratio", Type.DOUBLE, 0.5, ConfigDef.Range.between(0.0, 1.0), Importance.LOW, "A ratio.")
            .define("names", Type.LIST, List.of("a", "b"), Importance.LOW, "Names.");
    }

    public Config validate(Map<String, String> given) {
        Config config = super.validate(given);
        if ("incrementing".equals(given.get("mode")) && !given.containsKey("column")) {
            for (ConfigValue value : config.configValues()) {
                if (value.name().equals("column")) {
                    value.addErrorMessage("mode incrementing needs a column");
                }
            }
        }
        return config;
    }

    public void start(Map<String, String> given) {
        if ("broken".equals(given.get("file"))) {
            throw new org.apache.kafka.connect.errors.ConnectException("a broken file");
        }
        settings = given;
    }

    public List<Map<String, String>> taskConfigs(int most) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < most; task++) {
            Map<String, String> config = new java.util.HashMap<>(settings);
            config.put("number", Integer.toString(task));
            configs.add(config);
        }
        return configs;
    }

    public Class<? extends Task> taskClass() {
        return RecordedTask.class;
    }

    public void stop() {
    }

    public String version() {
        return "1.0";
    }

    public static class RecordedTask extends SourceTask {
        private Map<String, String> settings;
        private boolean done;

        public void start(Map<String, String> given) {
            settings = given;
        }

        public List<SourceRecord> poll() throws InterruptedException {
            if ("fail".equals(settings.get("file"))) {
                throw new org.apache.kafka.connect.errors.ConnectException("no such file");
            }
            if (done) {
                Thread.sleep(100);
                return null;
            }
            done = true;
            Map<String, Object> place = Map.of("number", Integer.parseInt(settings.get("number")));
            return List.of(new SourceRecord(place, Map.of("position", 7L), settings.get("topic"),
                Schema.STRING_SCHEMA, "line"));
        }

        public void stop() {
        }

        public String version() {
            return "1.0";
        }
    }
}
