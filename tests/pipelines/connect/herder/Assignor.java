// Connect's own assignor: a question a line, all for one leader until {"new":maxDelay} makes another.
//   {"now":ms,"last":g,"generation":g,"connectors":{name:tasks},
//    "members":[[name,[[connector,task]]]]}  -> {"given":{name:pairs},"revoked":{…},"delay":ms}
// Task -1 stands for the connector.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectorTaskId;

public class Assignor {
    static final ObjectMapper JSON = new ObjectMapper();
    static long now;
    static IncrementalCooperativeAssignor leader;

    public static void main(String[] arguments) throws Exception {
        Time time = (Time) java.lang.reflect.Proxy.newProxyInstance(Assignor.class.getClassLoader(),
            new Class<?>[] {Time.class}, (proxy, method, words) -> {
                if (!method.getName().equals("milliseconds")) {
                    throw new UnsupportedOperationException(method.getName());
                }
                return now;
            });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            Object told = null;
            if (asked.has("new")) {
                leader = new IncrementalCooperativeAssignor(new LogContext(), time, asked.get("new").asInt());
            } else {
                told = round(asked);
            }
            System.out.println(JSON.writeValueAsString(told));
            System.out.flush();
        }
    }

    static Object round(JsonNode asked) throws Exception {
        now = asked.get("now").asLong();
        Map<String, Integer> counts = new HashMap<>();
        Map<String, Map<String, String>> settings = new HashMap<>();
        Map<String, TargetState> states = new HashMap<>();
        asked.get("connectors").fields().forEachRemaining(each -> {
            counts.put(each.getKey(), each.getValue().asInt());
            settings.put(each.getKey(), Map.of());
            states.put(each.getKey(), TargetState.STARTED);
        });
        ClusterConfigState state = new ClusterConfigState(0, null, counts, settings, states, Map.of(), Map.of(),
            Map.of(), Map.of(), Set.of(), Set.of());
        Map<String, ConnectorsAndTasks> members = new LinkedHashMap<>();
        for (JsonNode member : asked.get("members")) {
            List<String> connectors = new ArrayList<>();
            List<ConnectorTaskId> tasks = new ArrayList<>();
            for (JsonNode pair : member.get(1)) {
                if (pair.get(1).asInt() < 0) {
                    connectors.add(pair.get(0).asText());
                } else {
                    tasks.add(new ConnectorTaskId(pair.get(0).asText(), pair.get(1).asInt()));
                }
            }
            members.put(member.get(0).asText(), new ConnectorsAndTasks.Builder().with(connectors, tasks).build());
        }
        Method perform = IncrementalCooperativeAssignor.class.getDeclaredMethod(
            "performTaskAssignment", ClusterConfigState.class, int.class, int.class, Map.class);
        perform.setAccessible(true);
        Object made = perform.invoke(leader, state, asked.get("last").asInt(), asked.get("generation").asInt(), members);
        Field delay = IncrementalCooperativeAssignor.class.getDeclaredField("delay");
        delay.setAccessible(true);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("given", pairs(made, "newlyAssignedConnectors", "newlyAssignedTasks"));
        told.put("revoked", pairs(made, "newlyRevokedConnectors", "newlyRevokedTasks"));
        told.put("delay", delay.get(leader));
        return told;
    }

    @SuppressWarnings("unchecked")
    static Map<String, List<Object>> pairs(Object made, String connectors, String tasks) throws Exception {
        Map<String, List<Object>> found = new TreeMap<>();
        ((Map<String, Collection<String>>) got(made, connectors)).forEach((name, each) -> each.forEach(
            connector -> found.computeIfAbsent(name, any -> new ArrayList<>()).add(List.of(connector, -1))));
        ((Map<String, Collection<ConnectorTaskId>>) got(made, tasks)).forEach((name, each) -> each.forEach(
            task -> found.computeIfAbsent(name, any -> new ArrayList<>()).add(List.of(task.connector(), task.task()))));
        return found;
    }

    static Object got(Object made, String field) throws Exception {
        Field found = made.getClass().getDeclaredField(field);
        found.setAccessible(true);
        return found.get(made);
    }
}
