// Bytes of the group protocol as Connect's own classes write and read them: a question a line.
//   {"version":1,"state":{"url":u,"offset":n,"assignment":null|A}}   -> {"bytes":base64}
//   {"version":1,"assignment":A}                                     -> {"bytes":base64}
//   {"version":1,"read":"state"|"assignment","bytes":base64}         -> the same value
//   {"version":1,"offered":{"url":u,"offset":n,"assignment":null|A}} -> [[name,base64]]
// A is {"error","leader","url","offset","given":[[connector,task]],"revoked":[…],"delay"}.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

public class Protocol {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            System.out.flush();
        }
    }

    static Object answer(JsonNode asked) {
        short version = (short) asked.get("version").asInt();
        if (asked.has("read")) {
            ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(asked.get("bytes").asText()));
            return asked.get("read").asText().equals("state") ? readState(version, bytes) : readAssignment(version, bytes);
        }
        if (asked.has("offered")) {
            List<Object> found = new ArrayList<>();
            var offered = version == 0
                ? ConnectProtocol.metadataRequest(plainState(asked.get("offered")))
                : IncrementalCooperativeConnectProtocol.metadataRequest(state(asked.get("offered"), version), version == 2);
            offered.forEach(each -> found.add(List.of(each.name(), Base64.getEncoder().encodeToString(each.metadata()))));
            return found;
        }
        ByteBuffer written;
        if (asked.has("state")) {
            JsonNode state = asked.get("state");
            written = version == 0 ? ConnectProtocol.serializeMetadata(plainState(state))
                : IncrementalCooperativeConnectProtocol.serializeMetadata(state(state, version), version == 2);
        } else {
            ExtendedAssignment given = assignment(asked.get("assignment"), version);
            written = version == 0 ? ConnectProtocol.serializeAssignment(given)
                : IncrementalCooperativeConnectProtocol.serializeAssignment(given, version == 2);
        }
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        return Map.of("bytes", Base64.getEncoder().encodeToString(bytes));
    }

    static ConnectProtocol.WorkerState plainState(JsonNode state) {
        return new ConnectProtocol.WorkerState(state.get("url").asText(), state.get("offset").asLong());
    }

    static ExtendedWorkerState state(JsonNode state, short version) {
        JsonNode held = state.get("assignment");
        return new ExtendedWorkerState(state.get("url").asText(), state.get("offset").asLong(),
            held.isNull() ? null : assignment(held, version));
    }

    static ExtendedAssignment assignment(JsonNode told, short version) {
        List<String> connectors = new ArrayList<>();
        List<ConnectorTaskId> tasks = new ArrayList<>();
        work(told.get("given"), connectors, tasks);
        List<String> revokedConnectors = new ArrayList<>();
        List<ConnectorTaskId> revokedTasks = new ArrayList<>();
        work(told.get("revoked"), revokedConnectors, revokedTasks);
        return new ExtendedAssignment(version, (short) told.get("error").asInt(), told.get("leader").asText(),
            told.get("url").asText(), told.get("offset").asLong(), connectors, tasks, revokedConnectors,
            revokedTasks, told.get("delay").asInt());
    }

    static void work(JsonNode pairs, List<String> connectors, List<ConnectorTaskId> tasks) {
        for (JsonNode pair : pairs) {
            if (pair.get(1).asInt() < 0) {
                connectors.add(pair.get(0).asText());
            } else {
                tasks.add(new ConnectorTaskId(pair.get(0).asText(), pair.get(1).asInt()));
            }
        }
    }

    static Object readState(short version, ByteBuffer bytes) {
        Map<String, Object> told = new LinkedHashMap<>();
        if (version == 0) {
            ConnectProtocol.WorkerState state = ConnectProtocol.deserializeMetadata(bytes);
            told.put("url", state.url());
            told.put("offset", state.offset());
            told.put("assignment", null);
            return told;
        }
        ExtendedWorkerState state = IncrementalCooperativeConnectProtocol.deserializeMetadata(bytes);
        told.put("url", state.url());
        told.put("offset", state.offset());
        ExtendedAssignment held = state.assignment();
        told.put("assignment", held == null || held.leader() == null ? null : shown(held));
        return told;
    }

    static Object readAssignment(short version, ByteBuffer bytes) {
        if (version > 0) {
            return shown(IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes));
        }
        ConnectProtocol.Assignment read = ConnectProtocol.deserializeAssignment(bytes);
        Map<String, Object> told = head(read);
        told.put("revoked", List.of());
        told.put("delay", 0);
        return told;
    }

    static Map<String, Object> shown(ExtendedAssignment read) {
        Map<String, Object> told = head(read);
        told.put("revoked", pairs(read.revokedConnectors(), read.revokedTasks()));
        told.put("delay", read.delay());
        return told;
    }

    static Map<String, Object> head(ConnectProtocol.Assignment read) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("error", read.error());
        told.put("leader", read.leader());
        told.put("url", read.leaderUrl());
        told.put("offset", read.offset());
        told.put("given", pairs(read.connectors(), read.tasks()));
        return told;
    }

    static List<Object> pairs(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        List<Object> found = new ArrayList<>();
        connectors.forEach(each -> found.add(List.of(each, -1)));
        tasks.forEach(each -> found.add(List.of(each.connector(), each.task())));
        return found;
    }
}
