// Confluent's registry client and serializers for Java: one JSON command per line in, one JSON
// answer per line out (see tests/clients/drivers/program.py).

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.JsonFormat;
import io.confluent.kafka.schemaregistry.ParsedSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.schemaregistry.protobuf.ProtobufSchema;
import io.confluent.kafka.schemaregistry.protobuf.ProtobufSchemaProvider;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.protobuf.KafkaProtobufDeserializer;
import io.confluent.kafka.serializers.protobuf.KafkaProtobufSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecordBase;

public final class JavaSerdes {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        // This file is compiled in memory; Avro finds the class of a record where this one is from.
        Thread.currentThread().setContextClassLoader(JavaSerdes.class.getClassLoader());
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", carryOut(JSON.readTree(line)));
            } catch (Throwable fault) {
                int code = -1;
                StringBuilder chain = new StringBuilder();
                for (Throwable each = fault; each != null; each = each.getCause()) {
                    chain.append(each).append("; ");
                    if (each instanceof RestClientException) {
                        code = ((RestClientException) each).getErrorCode();
                    }
                }
                answer.put("error", code).put("message", chain.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static JsonNode carryOut(JsonNode command) throws Exception {
        SchemaRegistryClient client = new CachedSchemaRegistryClient(
            List.of(command.get("url").asText()), 1000,
            List.of(new AvroSchemaProvider(), new ProtobufSchemaProvider()), Map.of());
        String format = command.get("format").asText();
        switch (command.get("op").asText()) {
            case "register":
                return JSON.valueToTree(
                    client.register(command.get("subject").asText(), parsed(command, format)));
            case "compatible":
                return JSON.valueToTree(
                    client.testCompatibility(command.get("subject").asText(), parsed(command, format)));
            case "encode":
                byte[] data = format.equals("AVRO") ? encodeAvro(client, command) : encodeProtobuf(client, command);
                return JSON.valueToTree(Base64.getEncoder().encodeToString(data));
            case "specific_avro":
                return specificAvro(client, command);
            case "specific_protobuf":
                return specificProtobuf(client, command);
            default:
                return decode(client, command, format);
        }
    }

    static JsonNode specificAvro(SchemaRegistryClient client, JsonNode command) throws Exception {
        String topic = command.get("topic").asText();
        byte[] data = encodeAvro(client, command);
        org.apache.avro.Schema schema = new AvroSchema(command.get("schema").asText()).rawSchema();
        KafkaAvroSerializer keys = new KafkaAvroSerializer(client);
        keys.configure(settings(command), true);
        keys.serialize(topic, new GenericDatumReader<GenericRecord>(schema)
            .read(null, DecoderFactory.get().jsonDecoder(schema, command.get("value").toString())));
        KafkaAvroDeserializer generic = new KafkaAvroDeserializer(client);
        generic.configure(settings(command), false);
        Object record = generic.deserialize(topic, data);
        KafkaAvroDeserializer specific = new KafkaAvroDeserializer(client);
        Map<String, Object> wanted = new HashMap<>(settings(command));
        wanted.put("specific.avro.reader", true);
        specific.configure(wanted, false);
        Card card = (Card) specific.deserialize(topic, data);
        ObjectNode told = JSON.createObjectNode();
        told.put("generic", record.getClass().getName());
        told.put("specific", card.getClass().getName());
        told.put("copied", SpecificData.get().deepCopy(Card.SCHEMA$, record).getClass().getName());
        told.put("value", card.card + " of " + card.suit);
        for (String subject : client.getAllSubjects()) {
            if (subject.startsWith(topic + "-")) {
                told.withArray("subjects").add(subject.substring(topic.length() + 1));
            }
        }
        return told;
    }

    static JsonNode specificProtobuf(SchemaRegistryClient client, JsonNode command) {
        String topic = command.get("topic").asText();
        KafkaProtobufSerializer<Timestamp> serializer = new KafkaProtobufSerializer<>(client);
        serializer.configure(settings(command), false);
        byte[] data = serializer.serialize(topic, Timestamp.newBuilder().setSeconds(42).build());
        KafkaProtobufDeserializer<DynamicMessage> dynamic = new KafkaProtobufDeserializer<>(client);
        dynamic.configure(settings(command), false);
        KafkaProtobufDeserializer<Timestamp> specific = new KafkaProtobufDeserializer<>(client);
        Map<String, Object> wanted = new HashMap<>(settings(command));
        wanted.put("specific.protobuf.value.type", Timestamp.class.getName());
        specific.configure(wanted, false);
        ObjectNode told = JSON.createObjectNode();
        Object found = dynamic.deserialize(topic, data);
        told.put("dynamic", found.getClass().getName());
        told.put("seconds", specific.deserialize(topic, data).getSeconds());
        return told;
    }

    static ParsedSchema parsed(JsonNode command, String format) {
        String text = command.get("schema").asText();
        return format.equals("AVRO") ? new AvroSchema(text) : new ProtobufSchema(text);
    }

    static byte[] encodeAvro(SchemaRegistryClient client, JsonNode command) throws Exception {
        org.apache.avro.Schema schema = new AvroSchema(command.get("schema").asText()).rawSchema();
        GenericRecord value = new GenericDatumReader<GenericRecord>(schema)
            .read(null, DecoderFactory.get().jsonDecoder(schema, command.get("value").toString()));
        KafkaAvroSerializer serializer = new KafkaAvroSerializer(client);
        serializer.configure(settings(command), false);
        return serializer.serialize(command.get("topic").asText(), value);
    }

    static byte[] encodeProtobuf(SchemaRegistryClient client, JsonNode command) throws Exception {
        DynamicMessage.Builder builder = new ProtobufSchema(command.get("schema").asText()).newMessageBuilder();
        JsonFormat.parser().merge(command.get("value").toString(), builder);
        KafkaProtobufSerializer<DynamicMessage> serializer = new KafkaProtobufSerializer<>(client);
        serializer.configure(settings(command), false);
        return serializer.serialize(command.get("topic").asText(), builder.build());
    }

    static JsonNode decode(SchemaRegistryClient client, JsonNode command, String format) throws Exception {
        byte[] data = Base64.getDecoder().decode(command.get("data").asText());
        String topic = command.get("topic").asText();
        if (format.equals("AVRO")) {
            KafkaAvroDeserializer deserializer = new KafkaAvroDeserializer(client);
            deserializer.configure(settings(command), false);
            return JSON.readTree(deserializer.deserialize(topic, data).toString());
        }
        KafkaProtobufDeserializer<DynamicMessage> deserializer = new KafkaProtobufDeserializer<>(client);
        deserializer.configure(settings(command), false);
        return JSON.readTree(JsonFormat.printer().print(deserializer.deserialize(topic, data)));
    }

    static Map<String, Object> settings(JsonNode command) {
        return Map.of("schema.registry.url", command.get("url").asText());
    }
}

// What Avro's code generator would make of the schema, as far as a reader needs it.
public class Card extends SpecificRecordBase {
    public static final org.apache.avro.Schema SCHEMA$ = new org.apache.avro.Schema.Parser().parse(
        "{\"type\":\"record\",\"name\":\"Card\",\"fields\":["
        + "{\"name\":\"suit\",\"type\":\"string\"},{\"name\":\"card\",\"type\":\"string\"}]}");
    CharSequence suit;
    CharSequence card;

    @Override
    public org.apache.avro.Schema getSchema() {
        return SCHEMA$;
    }

    @Override
    public Object get(int field) {
        return field == 0 ? suit : card;
    }

    @Override
    public void put(int field, Object value) {
        if (field == 0) {
            suit = (CharSequence) value;
        } else {
            card = (CharSequence) value;
        }
    }
}
