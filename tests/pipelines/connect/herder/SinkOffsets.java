// Offsets of a sink as Connect reads them from a request: a question a line.
//   [[partition|null,offset|null]] -> [[topic,partition,offset|null]] or {"error":message}

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.util.SinkUtils;

public class SinkOffsets {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            System.out.flush();
        }
    }

    static Object answer(JsonNode asked) {
        Map<Map<String, ?>, Map<String, ?>> offsets = new LinkedHashMap<>();
        for (JsonNode pair : asked) {
            offsets.put(JSON.convertValue(pair.get(0), new TypeReference<Map<String, Object>>() { }),
                JSON.convertValue(pair.get(1), new TypeReference<Map<String, Object>>() { }));
        }
        try {
            List<Object> told = new ArrayList<>();
            SinkUtils.parseSinkConnectorOffsets(offsets).forEach((place, offset) ->
                told.add(Arrays.asList(place.topic(), place.partition(), offset)));
            return told;
        } catch (ConnectException fault) {
            return Map.of("error", fault.getMessage());
        }
    }
}
