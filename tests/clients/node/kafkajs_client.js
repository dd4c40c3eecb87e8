// kafkajs as the tests drive it: one JSON command per line in, one JSON answer per line out (see
// drivers/program.py).
//
// kafkajs consumes in groups only. Reading here therefore goes one step below its consumer: its
// own cluster, its own fetch request and its own decoder of record batches, without a group.

'use strict'

const readline = require('readline')
const kafkajs = require('kafkajs')
const Cluster = require('kafkajs/src/cluster')
const createSocketFactory = require('kafkajs/src/network/socketFactory')
const lz4 = require('lz4-napi')
const snappy = require('snappyjs')
const { ZstdCodec } = require('zstd-codec')

const TIMEOUT_MS = 30000
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 }
const RESOURCE_TOPIC = kafkajs.ConfigResourceTypes.TOPIC
const clients = new Map()

const encoded = data => (data == null ? null : Buffer.from(data).toString('base64'))
const decoded = text => (text === null ? null : Buffer.from(text, 'base64'))

// Snappy data of Java clients is a sequence of blocks behind the head of the xerial library.
const XERIAL_HEAD = Buffer.from([130, 83, 78, 65, 80, 80, 89, 0])

function uncompressSnappy (data) {
  if (!data.subarray(0, 8).equals(XERIAL_HEAD)) return Buffer.from(snappy.uncompress(data))
  const blocks = []
  for (let at = 16; at < data.length;) {
    const size = data.readInt32BE(at)
    blocks.push(Buffer.from(snappy.uncompress(data.subarray(at + 4, at + 4 + size))))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}

async function installCodecs () {
  const zstd = await new Promise(resolve => ZstdCodec.run(module => resolve(new module.Simple())))
  const codec = (compress, decompress) => () => ({
    compress: async encoder => Buffer.from(await compress(encoder.buffer)),
    decompress: async data => Buffer.from(await decompress(data))
  })
  const table = kafkajs.CompressionCodecs
  table[CODECS.snappy] = codec(data => snappy.compress(data), uncompressSnappy)
  table[CODECS.lz4] = codec(lz4.compressFrame, lz4.decompressFrame)
  table[CODECS.zstd] = codec(data => zstd.compress(data), data => zstd.decompress(data))
}

async function client (bootstrap) {
  if (!clients.has(bootstrap)) {
    const kafka = new kafkajs.Kafka({
      clientId: 'headrace-tests',
      brokers: [bootstrap],
      logLevel: kafkajs.logLevel.NOTHING
    })
    const admin = kafka.admin()
    await admin.connect()
    clients.set(bootstrap, { kafka, admin })
  }
  return clients.get(bootstrap)
}

// kafkajs keeps its cluster to itself; this is how its own clients build one.
async function cluster (bootstrap) {
  const logger = kafkajs.Kafka.prototype.logger.call((await client(bootstrap)).kafka)
  const found = new Cluster({
    logger,
    socketFactory: createSocketFactory(),
    brokers: [bootstrap],
    clientId: 'headrace-tests',
    connectionTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    metadataMaxAge: 300000,
    isolationLevel: 0,
    allowAutoTopicCreation: false
  })
  await found.connect()
  return found
}

async function produce (kafka, command, partition) {
  const producer = kafka.producer({
    idempotent: Boolean(command.idempotent),
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner
  })
  await producer.connect()
  const send = records => producer.send({
    topic: command.topic,
    acks: command.acks ?? -1,
    compression: CODECS[command.codec ?? 'none'],
    messages: records.map(record => message(record, partition))
  })
  try {
    if (partition === undefined) {
      const answers = []
      for (const record of command.records) answers.push(...await send([record]))
      return answers.map(answer => answer.partition)
    }
    const [answer] = (await send(command.records)) ?? []
    if (answer === undefined) return command.records.map(() => -1) // acks=0 is never answered
    return command.records.map((_, index) => Number(answer.baseOffset) + index)
  } finally {
    await producer.disconnect()
  }
}

function message (record, partition) {
  const headers = {}
  for (const [name, value] of record.headers) {
    headers[name] = [...(headers[name] ?? []), decoded(value)]
  }
  return {
    partition,
    key: decoded(record.key),
    value: decoded(record.value),
    timestamp: String(record.timestamp_ms),
    headers
  }
}

async function read (command) {
  const connected = await cluster(command.bootstrap)
  try {
    await connected.addTargetTopic(command.topic)
    const leaders = connected.findLeaderForPartitions(command.topic, [command.partition])
    const broker = await connected.findBroker({ nodeId: Object.keys(leaders)[0] })
    const found = []
    const deadline = Date.now() + TIMEOUT_MS
    let offset = command.offset
    while (found.length < command.count && Date.now() < deadline) {
      const partitions = [{ partition: command.partition, fetchOffset: offset, maxBytes: 1 << 20 }]
      const { responses } = await broker.fetch({
        maxWaitTime: 500,
        topics: [{ topic: command.topic, partitions }]
      })
      for (const record of responses[0].partitions[0].messages) {
        // A fetch returns whole batches; what lies before the offset asked for is dropped.
        if (Number(record.offset) < offset || found.length === command.count) continue
        offset = Number(record.offset) + 1
        found.push(described(record))
      }
    }
    return found
  } finally {
    await connected.disconnect()
  }
}

function described (record) {
  const headers = []
  for (const [name, value] of Object.entries(record.headers)) {
    for (const each of Array.isArray(value) ? value : [value]) headers.push([name, encoded(each)])
  }
  return {
    offset: Number(record.offset),
    timestamp_ms: Number(record.timestamp),
    key: encoded(record.key),
    value: encoded(record.value),
    headers
  }
}

const OPERATIONS = {
  async create_topic ({ admin }, { topic, partitions, config }) {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
    return admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }] })
  },
  async create_partitions ({ admin }, { topic, total }) {
    await admin.createPartitions({ topicPartitions: [{ topic, count: total }] })
    return true
  },
  async delete_topic ({ admin }, { topic }) {
    await admin.deleteTopics({ topics: [topic] })
    return true
  },
  async partition_counts ({ admin }) {
    const { topics } = await admin.fetchTopicMetadata()
    return Object.fromEntries(topics.map(topic => [topic.name, topic.partitions.length]))
  },
  async topic_config ({ admin }, { topic }) {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: RESOURCE_TOPIC, name: topic }]
    })
    const entries = resources[0].configEntries
    return Object.fromEntries(entries.map(entry => [entry.configName, entry.configValue]))
  },
  async delete_records ({ admin }, command) {
    const partitions = [{ partition: command.partition, offset: String(command.before_offset) }]
    await admin.fetchTopicOffsets(command.topic) // it looks for leaders only among topics it knows
    await admin.deleteTopicRecords({ topic: command.topic, partitions })
    const offsets = await admin.fetchTopicOffsets(command.topic)
    return Number(offsets.find(found => found.partition === command.partition).low)
  },
  async offset_for_time ({ admin }, { topic, partition, timestamp_ms: timestamp }) {
    const ends = await admin.fetchTopicOffsets(topic)
    const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
    const of = list => Number(list.find(found => found.partition === partition).offset)
    // kafkajs answers with the end of the partition where there is no such record.
    return of(offsets) === of(ends) ? null : of(offsets)
  },
  produce: ({ kafka }, command) => produce(kafka, command, command.partition),
  partitions_of_keys: ({ kafka }, command) => produce(kafka, command, undefined),
  read: (_, command) => read(command)
}

function refusal (fault) {
  const first = fault.errors?.[0] ?? fault
  const cause = first.cause?.code !== undefined ? first.cause : first
  return { error: Number.isInteger(cause.code) ? cause.code : -1, message: String(fault.stack) }
}

async function main () {
  await installCodecs()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line)
    let answer
    try {
      const connected = await client(command.bootstrap)
      answer = { ok: await OPERATIONS[command.op](connected, command) }
    } catch (fault) {
      answer = refusal(fault)
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
  process.exit(0)
}

main()
