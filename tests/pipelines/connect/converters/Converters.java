// Kafka Connect's own converters: one JSON command per line in, one JSON answer per line out.
//
// A schema is an object, a value is an array of its Java type's name and its content, so that an
// answer says exactly what Java has: ["i64", "5"], ["f32", bits], ["list", [..]], null.

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

public final class Converters {
    static final JsonMapper JSON =
            JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
    static final Map<String, Object> MADE = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (Throwable fault) {
                answer.removeAll();
                answer.put("fault", fault.getClass().getName());
                answer.put("message", fault.getMessage());
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static void answer(JsonNode asked, ObjectNode answer) throws Exception {
        switch (asked.get("op").asText()) {
            case "decode": {
                JsonNode data = asked.get("data");
                byte[] bytes = data.isNull() ? null : Base64.getDecoder().decode(data.asText());
                Object made = made(asked);
                SchemaAndValue read = made instanceof Converter
                        ? ((Converter) made).toConnectData("topic", bytes)
                        : ((HeaderConverter) made).toConnectHeader("topic", "header", bytes);
                // Of a header that says null there is neither.
                answer.set("schema", read == null ? JSON.nullNode() : shown(read.schema()));
                answer.set("value", read == null ? JSON.nullNode() : shown(read.value()));
                return;
            }
            case "encode": {
                Schema schema = schema(asked.get("schema"));
                Object value = value(schema, asked.get("value"));
                Object made = made(asked);
                byte[] bytes = made instanceof Converter
                        ? ((Converter) made).fromConnectData("topic", schema, value)
                        : ((HeaderConverter) made)
                                .fromConnectHeader("topic", "header", schema, value);
                answer.put("data", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
                return;
            }
            case "text": {
                Schema schema = schema(asked.get("schema"));
                answer.put("text", String.valueOf(value(schema, asked.get("value"))));
                return;
            }
            case "settings": {
                Object made = Class.forName(asked.get("class").asText())
                        .getDeclaredConstructor().newInstance();
                ConfigDef settings = made instanceof Converter
                        ? ((Converter) made).config() : ((HeaderConverter) made).config();
                settings(settings, answer.putArray("keys"));
                return;
            }
            default:
                throw new IllegalArgumentException(asked.toString());
        }
    }

    static void settings(ConfigDef settings, ArrayNode keys) {
        for (ConfigDef.ConfigKey key : settings.configKeys().values()) {
            ObjectNode shown = keys.addObject();
            shown.put("name", key.name).put("kind", key.type.name());
            shown.put("required", !key.hasDefault());
            shown.put("default", key.hasDefault() ? String.valueOf(key.defaultValue) : null);
            shown.put("importance", key.importance.name()).put("group", key.group);
            shown.put("width", key.width.name()).put("display", key.displayName);
        }
    }

    static Object made(JsonNode asked) throws Exception {
        String name = asked.get("class").asText();
        String all = name + asked.get("config") + asked.get("key");
        Object made = MADE.get(all);
        if (made == null) {
            made = Class.forName(name).getDeclaredConstructor().newInstance();
            Map<String, Object> config = new HashMap<>();
            asked.get("config").properties().forEach(
                    each -> config.put(each.getKey(), each.getValue().asText()));
            if (made instanceof Converter) {
                ((Converter) made).configure(config, asked.get("key").asBoolean());
            } else {
                config.put("converter.type", "header");
                ((HeaderConverter) made).configure(config);
            }
            MADE.put(all, made);
        }
        return made;
    }

    // --- schemas ---

    static Schema schema(JsonNode shown) {
        if (shown == null || shown.isNull()) {
            return null;
        }
        Schema.Type type = Schema.Type.valueOf(shown.get("type").asText().toUpperCase());
        SchemaBuilder made;
        if (type == Schema.Type.ARRAY) {
            made = SchemaBuilder.array(schema(shown.get("values")));
        } else if (type == Schema.Type.MAP) {
            made = SchemaBuilder.map(schema(shown.get("keys")), schema(shown.get("values")));
        } else {
            made = SchemaBuilder.type(type);
        }
        if (shown.has("fields")) {
            for (JsonNode field : shown.get("fields")) {
                made.field(field.get(0).asText(), schema(field.get(1)));
            }
        }
        if (shown.get("optional").asBoolean()) {
            made.optional();
        }
        if (shown.has("name")) {
            made.name(shown.get("name").asText());
        }
        if (shown.has("version")) {
            made.version(shown.get("version").asInt());
        }
        if (shown.has("doc")) {
            made.doc(shown.get("doc").asText());
        }
        if (shown.has("parameters")) {
            shown.get("parameters").properties().forEach(
                    each -> made.parameter(each.getKey(), each.getValue().asText()));
        }
        if (shown.has("default")) {
            made.defaultValue(value(made, shown.get("default")));
        }
        return made.build();
    }

    static JsonNode shown(Schema schema) {
        if (schema == null) {
            return JSON.nullNode();
        }
        ObjectNode shown = JSON.createObjectNode();
        shown.put("type", schema.type().getName()).put("optional", schema.isOptional());
        if (schema.name() != null) {
            shown.put("name", schema.name());
        }
        if (schema.version() != null) {
            shown.put("version", schema.version());
        }
        if (schema.doc() != null) {
            shown.put("doc", schema.doc());
        }
        if (schema.parameters() != null) {
            schema.parameters().forEach(shown.withObject("/parameters")::put);
        }
        if (schema.defaultValue() != null) {
            shown.set("default", shown(schema.defaultValue()));
        }
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = shown.putArray("fields");
            for (Field field : schema.fields()) {
                fields.addArray().add(field.name()).add(shown(field.schema()));
            }
        }
        if (schema.type() == Schema.Type.MAP && schema.keySchema() != null) {
            shown.set("keys", shown(schema.keySchema()));
        }
        boolean nested = schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY;
        if (nested && schema.valueSchema() != null) {
            shown.set("values", shown(schema.valueSchema()));
        }
        return shown;
    }

    // --- values ---

    static Object value(Schema schema, JsonNode shown) {
        if (shown == null || shown.isNull()) {
            return null;
        }
        JsonNode content = shown.get(1);
        switch (shown.get(0).asText()) {
            case "i8": return Byte.valueOf(content.asText());
            case "i16": return Short.valueOf(content.asText());
            case "i32": return Integer.valueOf(content.asText());
            case "i64": return Long.valueOf(content.asText());
            case "f32": return Float.intBitsToFloat(content.asInt());
            case "f64": return Double.longBitsToDouble(Long.parseLong(content.asText()));
            case "bool": return content.asBoolean();
            case "str": return content.asText();
            case "bytes": return Base64.getDecoder().decode(content.asText());
            case "buffer": return ByteBuffer.wrap(Base64.getDecoder().decode(content.asText()));
            case "ms": return new java.util.Date(Long.parseLong(content.asText()));
            case "dec": return new BigDecimal(new BigInteger(content.asText()), shown.get(2).asInt());
            case "list": {
                List<Object> made = new ArrayList<>();
                Schema item = schema == null ? null : schema.valueSchema();
                content.forEach(each -> made.add(value(item, each)));
                return made;
            }
            case "map": {
                Map<Object, Object> made = new LinkedHashMap<>();
                Schema key = schema == null ? null : schema.keySchema();
                Schema item = schema == null ? null : schema.valueSchema();
                content.forEach(each -> made.put(value(key, each.get(0)), value(item, each.get(1))));
                return made;
            }
            case "struct": {
                Struct made = new Struct(schema.schema());
                for (Field field : schema.fields()) {
                    made.put(field, value(field.schema(), content.get(field.index())));
                }
                return made;
            }
            default: throw new IllegalArgumentException(shown.toString());
        }
    }

    static JsonNode shown(Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        ArrayNode shown = JSON.createArrayNode();
        if (value instanceof Byte) {
            shown.add("i8").add(value.toString());
        } else if (value instanceof Short) {
            shown.add("i16").add(value.toString());
        } else if (value instanceof Integer) {
            shown.add("i32").add(value.toString());
        } else if (value instanceof Long) {
            shown.add("i64").add(value.toString());
        } else if (value instanceof Float) {
            shown.add("f32").add(Float.floatToIntBits((Float) value));
        } else if (value instanceof Double) {
            shown.add("f64").add(Long.toString(Double.doubleToLongBits((Double) value)));
        } else if (value instanceof Boolean) {
            shown.add("bool").add((Boolean) value);
        } else if (value instanceof String) {
            shown.add("str").add((String) value);
        } else if (value instanceof byte[]) {
            shown.add("bytes").add(Base64.getEncoder().encodeToString((byte[]) value));
        } else if (value instanceof java.util.Date) {
            shown.add("ms").add(Long.toString(((java.util.Date) value).getTime()));
        } else if (value instanceof BigDecimal) {
            BigDecimal number = (BigDecimal) value;
            shown.add("dec").add(number.unscaledValue().toString()).add(number.scale());
        } else if (value instanceof List) {
            ArrayNode items = shown.add("list").addArray();
            ((List<?>) value).forEach(each -> items.add(shown(each)));
        } else if (value instanceof Map) {
            ArrayNode items = shown.add("map").addArray();
            ((Map<?, ?>) value).forEach((k, v) -> items.addArray().add(shown(k)).add(shown(v)));
        } else if (value instanceof Struct) {
            Struct struct = (Struct) value;
            ArrayNode items = shown.add("struct").addArray();
            struct.schema().fields().forEach(
                    each -> items.add(shown(struct.getWithoutDefault(each.name()))));
        } else {
            throw new IllegalArgumentException(value.getClass().toString());
        }
        return shown;
    }
}
