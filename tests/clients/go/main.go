// franz-go as the tests drive it: one JSON command per line in, one JSON answer per line out (see
// drivers/program.py). Consumers are assigned by hand; no group is ever joined.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const timeout = 30 * time.Second

type header struct {
	name  string
	value []byte
}

// A header is a pair in JSON: its name and its value, which may be null.
func (h *header) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.name, &h.value})
}

func (h header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.name, h.value})
}

// encoding/json writes and reads []byte as base64, and a nil one as null.
type record struct {
	Offset      int64    `json:"offset"`
	TimestampMs int64    `json:"timestamp_ms"`
	Key         []byte   `json:"key"`
	Value       []byte   `json:"value"`
	Headers     []header `json:"headers"`
}

type command struct {
	Op           string             `json:"op"`
	Bootstrap    string             `json:"bootstrap"`
	Topic        string             `json:"topic"`
	Partition    int32              `json:"partition"`
	Partitions   int32              `json:"partitions"`
	Total        int                `json:"total"`
	Config       map[string]*string `json:"config"`
	Records      []record           `json:"records"`
	Codec        string             `json:"codec"`
	Acks         int                `json:"acks"`
	Idempotent   bool               `json:"idempotent"`
	Offset       int64              `json:"offset"`
	Count        int                `json:"count"`
	TimestampMs  int64              `json:"timestamp_ms"`
	BeforeOffset int64              `json:"before_offset"`
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[int]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c command
		var result any
		if err = json.Unmarshal(line, &c); err == nil {
			result, err = carryOut(c)
		}
		if err == nil {
			out.Encode(map[string]any{"ok": result})
		} else {
			out.Encode(map[string]any{"error": code(err), "message": err.Error()})
		}
	}
}

func code(err error) int16 {
	var refused *kerr.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return -1
}

func carryOut(c command) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch c.Op {
	case "produce":
		return produce(ctx, c)
	case "partitions_of_keys":
		return partitionsOfKeys(ctx, c)
	case "read":
		return read(ctx, c)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return administer(ctx, kadm.NewClient(client), c)
}

func administer(ctx context.Context, admin *kadm.Client, c command) (any, error) {
	switch c.Op {
	case "create_topic":
		created, err := admin.CreateTopic(ctx, c.Partitions, -1, c.Config, c.Topic)
		return true, errors.Join(err, created.Err)
	case "create_partitions":
		changed, err := admin.UpdatePartitions(ctx, c.Total, c.Topic)
		return true, errors.Join(err, changed.Error())
	case "delete_topic":
		deleted, err := admin.DeleteTopics(ctx, c.Topic)
		return true, errors.Join(err, deleted.Error())
	case "partition_counts":
		topics, err := admin.ListTopics(ctx)
		counts := map[string]int{}
		for name, topic := range topics {
			counts[name] = len(topic.Partitions)
		}
		return counts, err
	case "topic_config":
		resources, err := admin.DescribeTopicConfigs(ctx, c.Topic)
		if err != nil {
			return nil, err
		}
		values := map[string]*string{}
		for _, config := range resources[0].Configs {
			values[config.Key] = config.Value
		}
		return values, resources[0].Err
	case "offset_for_time":
		// Where there is no such record kadm asks for the end, which has no timestamp.
		offsets, err := admin.ListOffsetsAfterMilli(ctx, c.TimestampMs, c.Topic)
		found, _ := offsets.Lookup(c.Topic, c.Partition)
		if err != nil || found.Err != nil || found.Timestamp < 0 {
			return nil, errors.Join(err, found.Err)
		}
		return found.Offset, nil
	case "delete_records":
		var until kadm.Offsets
		until.AddOffset(c.Topic, c.Partition, c.BeforeOffset, -1)
		deleted, err := admin.DeleteRecords(ctx, until)
		found, _ := deleted.Lookup(c.Topic, c.Partition)
		return found.LowWatermark, errors.Join(err, found.Err)
	}
	return nil, fmt.Errorf("unknown operation %q", c.Op)
}

func produce(ctx context.Context, c command) (any, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(c.Bootstrap),
		kgo.ProducerBatchCompression(codecs[c.Codec]),
		kgo.RequiredAcks(acks[c.Acks]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(20 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(1 << 20),
	}
	if !c.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	sent, err := send(ctx, c, options)
	offsets := []int64{}
	for _, record := range sent {
		offsets = append(offsets, record.Offset)
	}
	return offsets, err
}

func partitionsOfKeys(ctx context.Context, c command) (any, error) {
	sent, err := send(ctx, c, []kgo.Opt{kgo.SeedBrokers(c.Bootstrap)})
	partitions := []int32{}
	for _, record := range sent {
		partitions = append(partitions, record.Partition)
	}
	return partitions, err
}

func send(ctx context.Context, c command, options []kgo.Opt) ([]*kgo.Record, error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	wanted := []*kgo.Record{}
	for _, fields := range c.Records {
		headers := []kgo.RecordHeader{}
		for _, each := range fields.Headers {
			headers = append(headers, kgo.RecordHeader{Key: each.name, Value: each.value})
		}
		wanted = append(wanted, &kgo.Record{
			Topic:     c.Topic,
			Partition: c.Partition,
			Key:       fields.Key,
			Value:     fields.Value,
			Headers:   headers,
			Timestamp: time.UnixMilli(fields.TimestampMs),
		})
	}
	results := client.ProduceSync(ctx, wanted...)
	return wanted, results.FirstErr()
}

func read(ctx context.Context, c command) (any, error) {
	from := map[string]map[int32]kgo.Offset{c.Topic: {c.Partition: kgo.NewOffset().At(c.Offset)}}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap), kgo.ConsumePartitions(from))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := []record{}
	for len(found) < c.Count {
		fetches := client.PollRecords(ctx, c.Count-len(found))
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			headers := []header{}
			for _, each := range r.Headers {
				headers = append(headers, header{each.Key, each.Value})
			}
			found = append(found, record{r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, headers})
		})
	}
	return found, nil
}
