import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * The transforms of Apache Kafka, asked over pipes.
 *
 * A line on stdin is a JSON object: the class of a transform or predicate, its config, and records;
 * without a config it asks for the definition of its keys.
 * A line on stdout is the answer: the fault of configuring it, or for each record the record that
 * came out, null if it was dropped, a truth value of a predicate, or the fault. Values carry tags,
 * so that a float is told from a double and a map from a struct.
 */
public class Transforms {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.flush();
        }
    }

    private static JsonNode answer(JsonNode asked) throws Exception {
        Object plugin =
            Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
        if (!asked.has("config")) {
            return definition(plugin);
        }
        Map<String, Object> config = new HashMap<>();
        asked.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().asText()));
        try {
            if (plugin instanceof Transformation) {
                ((Transformation<?>) plugin).configure(config);
            } else {
                ((Predicate<?>) plugin).configure(config);
            }
        } catch (Exception fault) {
            return fault(fault);
        }
        ArrayNode results = JSON.createArrayNode();
        for (JsonNode record : asked.get("records")) {
            try {
                results.add(applied(plugin, record(record, asked.get("sink").asBoolean())));
            } catch (Exception fault) {
                results.add(fault(fault));
            }
        }
        return JSON.createObjectNode().set("results", results);
    }

    private static JsonNode definition(Object plugin) {
        ConfigDef definition = plugin instanceof Transformation
            ? ((Transformation<?>) plugin).config() : ((Predicate<?>) plugin).config();
        ObjectNode keys = JSON.createObjectNode();
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            ObjectNode node = keys.putObject(key.name);
            node.put("type", key.type.name());
            node.put("importance", key.importance.name());
            node.put("required", !key.hasDefault());
            node.put("default", key.hasDefault() && key.defaultValue != null ? key.defaultValue.toString() : null);
        }
        return keys;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static JsonNode applied(Object plugin, ConnectRecord record) {
        if (plugin instanceof Predicate) {
            return JSON.getNodeFactory().booleanNode(((Predicate) plugin).test(record));
        }
        return shown((ConnectRecord<?>) ((Transformation) plugin).apply(record));
    }

    private static JsonNode fault(Exception fault) {
        ObjectNode node = JSON.createObjectNode();
        node.put("fault", fault.getClass().getName());
        node.put("message", fault.getMessage());
        return node;
    }

    // --- what comes in ---

    private static ConnectRecord<?> record(JsonNode node, boolean sink) {
        Schema keySchema = schema(node.get("key_schema"));
        Schema valueSchema = schema(node.get("value_schema"));
        Object key = value(keySchema, node.get("key"));
        Object value = value(valueSchema, node.get("value"));
        Integer partition = node.get("partition").isNull() ? null : node.get("partition").asInt();
        Long timestamp = node.get("timestamp").isNull() ? null : node.get("timestamp").asLong();
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.get("headers")) {
            Schema schema = schema(header.get("schema"));
            headers.add(header.get("name").asText(), value(schema, header.get("value")), schema);
        }
        String topic = node.get("topic").asText();
        if (sink) {
            return new SinkRecord(topic, partition == null ? 0 : partition, keySchema, key,
                valueSchema, value, node.get("position").asLong(), timestamp,
                TimestampType.CREATE_TIME, headers);
        }
        return new SourceRecord(Map.of(), Map.of(), topic, partition, keySchema, key, valueSchema,
            value, timestamp, headers);
    }

    private static Schema schema(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText());
        List<Field> fields = null;
        if (type == Schema.Type.STRUCT) {
            fields = new ArrayList<>();
            for (JsonNode field : node.get("fields")) {
                fields.add(new Field(field.get("name").asText(), fields.size(), schema(field.get("schema"))));
            }
        }
        Map<String, String> parameters = null;
        if (!node.get("parameters").isNull()) {
            parameters = new LinkedHashMap<>();
            for (var each = node.get("parameters").fields(); each.hasNext(); ) {
                Map.Entry<String, JsonNode> entry = each.next();
                parameters.put(entry.getKey(), entry.getValue().asText());
            }
        }
        String name = node.get("name").isNull() ? null : node.get("name").asText();
        Integer version = node.get("version").isNull() ? null : node.get("version").asInt();
        String doc = node.get("doc").isNull() ? null : node.get("doc").asText();
        Schema keys = schema(node.get("keys"));
        Schema values = schema(node.get("values"));
        boolean optional = node.get("optional").asBoolean();
        Schema plain = new ConnectSchema(type, optional, null, name, version, doc, parameters, fields, keys, values);
        Object fallback = value(plain, node.get("default"));
        return new ConnectSchema(type, optional, fallback, name, version, doc, parameters, fields, keys, values);
    }

    private static Object value(Schema schema, JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        if (node.isBoolean()) {
            return node.asBoolean();
        }
        if (node.isTextual()) {
            return node.asText();
        }
        JsonNode held = node.get("v");
        switch (node.get("t").asText()) {
            case "int":
                return integer(schema, held.asLong());
            case "float":
                return (float) Double.parseDouble(held.asText());
            case "double":
                double number = Double.parseDouble(held.asText());
                return schema != null && schema.type() == Schema.Type.FLOAT32 ? (Object) (float) number : number;
            case "bytes":
                return Base64.getDecoder().decode(held.asText());
            case "decimal":
                return new BigDecimal(held.asText());
            case "date":
                return new Date(held.asLong());
            case "list":
                List<Object> list = new ArrayList<>();
                held.forEach(item -> list.add(value(schema == null ? null : schema.valueSchema(), item)));
                return list;
            case "map":
                Map<Object, Object> map = new LinkedHashMap<>();
                held.forEach(pair -> map.put(
                    value(schema == null ? null : schema.keySchema(), pair.get(0)),
                    value(schema == null ? null : schema.valueSchema(), pair.get(1))));
                return map;
            default:
                Struct struct = new Struct(schema);
                for (Field field : schema.fields()) {
                    Object item = value(field.schema(), held.get(field.index()));
                    if (item != null) {
                        struct.put(field, item);
                    }
                }
                return struct;
        }
    }

    private static Object integer(Schema schema, long number) {
        if (schema == null) {
            return number;
        }
        switch (schema.type()) {
            case INT8:
                return (byte) number;
            case INT16:
                return (short) number;
            case INT32:
                return (int) number;
            default:
                return number;
        }
    }

    // --- what comes out ---

    private static JsonNode shown(ConnectRecord<?> record) {
        if (record == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.put("timestamp", record.timestamp());
        node.set("key_schema", shown(record.keySchema()));
        node.set("key", shown(record.keySchema(), record.key()));
        node.set("value_schema", shown(record.valueSchema()));
        node.set("value", shown(record.valueSchema(), record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            ObjectNode each = headers.addObject();
            each.put("name", header.key());
            each.set("schema", shown(header.schema()));
            each.set("value", shown(header.schema(), header.value()));
        }
        return node;
    }

    private static JsonNode shown(Schema schema) {
        if (schema == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        node.put("type", schema.type().name());
        node.put("optional", schema.isOptional());
        node.set("default", shown(schema, schema.defaultValue()));
        node.put("name", schema.name());
        node.put("version", schema.version());
        node.put("doc", schema.doc());
        if (schema.parameters() == null) {
            node.putNull("parameters");
        } else {
            ObjectNode parameters = node.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields()) {
                ObjectNode each = fields.addObject();
                each.put("name", field.name());
                each.set("schema", shown(field.schema()));
            }
        }
        node.set("keys", schema.type() == Schema.Type.MAP ? shown(schema.keySchema()) : JSON.nullNode());
        boolean holds = schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY;
        node.set("values", holds ? shown(schema.valueSchema()) : JSON.nullNode());
        return node;
    }

    private static JsonNode shown(Schema schema, Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        if (value instanceof Boolean) {
            return JSON.getNodeFactory().booleanNode((Boolean) value);
        }
        if (value instanceof String) {
            return JSON.getNodeFactory().textNode((String) value);
        }
        if (value instanceof Float) {
            return tagged("float", Double.toString((Float) value));
        }
        if (value instanceof Double) {
            return tagged("double", value.toString());
        }
        if (value instanceof BigDecimal) {
            return tagged("decimal", value.toString());
        }
        if (value instanceof Number) {
            return tagged("int", Long.toString(((Number) value).longValue()));
        }
        if (value instanceof byte[]) {
            return tagged("bytes", Base64.getEncoder().encodeToString((byte[]) value));
        }
        if (value instanceof ByteBuffer) {
            return tagged("bytes", Base64.getEncoder().encodeToString(((ByteBuffer) value).array()));
        }
        if (value instanceof Date) {
            return tagged("date", Long.toString(((Date) value).getTime()));
        }
        ArrayNode held = JSON.createArrayNode();
        if (value instanceof List) {
            ((List<?>) value).forEach(item -> held.add(shown(null, item)));
            return JSON.createObjectNode().put("t", "list").set("v", held);
        }
        if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, item) ->
                held.add(JSON.createArrayNode().add(shown(null, key)).add(shown(null, item))));
            return JSON.createObjectNode().put("t", "map").set("v", held);
        }
        Struct struct = (Struct) value;
        for (Field field : struct.schema().fields()) {
            held.add(shown(field.schema(), struct.getWithoutDefault(field.name())));
        }
        boolean same = schema == null || schema.equals(struct.schema());
        return JSON.createObjectNode().put("t", same ? "struct" : "alien struct").set("v", held);
    }

    private static JsonNode tagged(String tag, String text) {
        return JSON.createObjectNode().put("t", tag).put("v", text);
    }
}
