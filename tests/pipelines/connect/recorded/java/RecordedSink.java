// A sink connector without settings of its own, for recordings of the REST API.

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

public class RecordedSink extends SinkConnector {
    private Map<String, String> settings;

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void start(Map<String, String> given) {
        settings = given;
    }

    public List<Map<String, String>> taskConfigs(int most) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < most; task++) {
            configs.add(settings);
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

    public static class RecordedTask extends SinkTask {
        public void start(Map<String, String> given) {
        }

        public void put(Collection<SinkRecord> records) {
        }

        public void stop() {
        }

        public String version() {
            return "1.0";
        }
    }
}
