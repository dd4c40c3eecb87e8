// Confluent's registry client and serializers for Node.js: one JSON command per line in, one JSON
// answer per line out. Protobuf descriptors come ready made, as a base64 FileDescriptorSet.

const readline = require('node:readline');
const {
  AvroDeserializer, AvroSerializer, JsonDeserializer, JsonSerializer, ProtobufDeserializer,
  ProtobufSerializer, SchemaRegistryClient, SerdeType,
} = require('@confluentinc/schemaregistry');
const { create, createFileRegistry, createMutableRegistry, fromBinary, fromJson, toJson } =
  require('@bufbuild/protobuf');
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt');

// A client of its own for each command: it remembers which version was the latest.
function client(url) {
  return new SchemaRegistryClient({ baseURLs: [url], cacheCapacity: 1000 });
}

const FORMATS = {
  AVRO: [AvroSerializer, AvroDeserializer],
  JSON: [JsonSerializer, JsonDeserializer],
};

function messages(command) {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(command.descriptors, 'base64'));
  return createFileRegistry(set);
}

const operations = {
  async register({ url, subject, format, schema }) {
    return client(url).register(subject, { schemaType: format, schema });
  },

  async encode(command) {
    const { url, topic, format, value } = command;
    if (format === 'PROTOBUF') {
      const registry = messages(command);
      const kind = registry.getMessage(command.message);
      const serializer = new ProtobufSerializer(client(url), SerdeType.VALUE, {
        autoRegisterSchemas: true, registry: createMutableRegistry(kind),
      });
      return (await serializer.serialize(topic, fromJson(kind, value))).toString('base64');
    }
    const [Serializer] = FORMATS[format];
    const serializer = new Serializer(client(url), SerdeType.VALUE, { useLatestVersion: true });
    return (await serializer.serialize(topic, value)).toString('base64');
  },

  async decode(command) {
    const { url, topic, format } = command;
    const data = Buffer.from(command.data, 'base64');
    if (format === 'PROTOBUF') {
      const deserializer = new ProtobufDeserializer(client(url), SerdeType.VALUE, {});
      const found = await deserializer.deserialize(topic, data);
      const kind = messages(command).getMessage(command.message);
      return toJson(kind, create(kind, found));
    }
    const [, Deserializer] = FORMATS[format];
    return new Deserializer(client(url), SerdeType.VALUE, {}).deserialize(topic, data);
  },
};

async function answer(line) {
  const command = JSON.parse(line);
  try {
    return { ok: await operations[command.op](command) };
  } catch (fault) {
    return { error: fault.errorCode || -1, message: String((fault && fault.stack) || fault) };
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
  }
  process.exit(0);
}

main();
