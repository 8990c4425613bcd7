package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Message is what is to be published. Those of one key stay in their order.
type Message struct {
	Key     int64
	Payload []byte
	// Created is when its row was inserted.
	Created time.Time
}

// Sink is where messages go.
type Sink interface {
	// Publish publishes messages in their order, and returns when all were acknowledged. Of a batch that fails some may have been.
	Publish(stop context.Context, messages []Message) error
	Close()
}

// createdHeader is the header of a record with the time at which its row was inserted, in microseconds since 1970.
const createdHeader = "created_us"

// answerMax is how long a broker may take before it counts as unavailable.
const answerMax = 10 * time.Second

// Open opens the sink that the settings name.
func Open(settings *Settings) (Sink, error) {
	kind, rest, _ := strings.Cut(settings.Sink, ":")
	switch {
	case settings.Sink == "null":
		return null{}, nil
	case kind == "file" && rest != "":
		path := rest
		if decoded, err := url.PathUnescape(rest); err == nil {
			path = decoded
		}
		file, err := openLines(path)
		return &lines{path: path, file: file}, err
	case kind == "kafka":
		return openTopic(settings)
	}
	return nil, fmt.Errorf("invalid STACKMARK_SINK: expected `null`, `file:PATH` or `kafka://HOST:PORT/TOPIC`")
}

// null takes everything and keeps nothing.
type null struct{}

func (null) Publish(context.Context, []Message) error { return nil }
func (null) Close()                                   {}

// lines is a file with a message a line; each batch is flushed to the disk.
type lines struct {
	path string
	// file is nil after an error, and opened again by the next batch.
	file *os.File
}

// openLines appends to a file. What was cut off when a relay was killed was acknowledged by nobody, and goes.
func openLines(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if whole := int64(bytes.LastIndexByte(text, '\n') + 1); err == nil && whole < int64(len(text)) {
		err = file.Truncate(whole)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func (l *lines) Publish(_ context.Context, messages []Message) (err error) {
	if l.file == nil {
		if l.file, err = openLines(l.path); err != nil {
			return err
		}
	}
	var text []byte
	for _, message := range messages {
		text = append(append(text, message.Payload...), '\n')
	}
	if _, err = l.file.Write(text); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		_ = l.file.Close()
		l.file = nil
	}
	return err
}

func (l *lines) Close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// topic is one of a broker. The partition of a message is its key modulo their number.
type topic struct {
	client     *kgo.Client
	partitions int64
}

func openTopic(settings *Settings) (Sink, error) {
	wrong := errors.New("invalid Kafka address in STACKMARK_SINK: expected kafka://HOST:PORT/TOPIC or kafka://USER@HOST:PORT/TOPIC")
	at, err := url.Parse(settings.Sink)
	if err != nil || at.Port() == "" {
		return nil, wrong
	}
	name := strings.TrimPrefix(at.Path, "/")
	if name == "" || strings.Contains(name, "/") {
		return nil, wrong
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(at.Host), kgo.ClientID("net-http"), kgo.DefaultProduceTopic(name),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.AllowIdempotentProduceCancellation(), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(answerMax), kgo.RetryTimeout(answerMax), kgo.MaxBufferedRecords(2 * batchMax),
	}
	if user := at.User.Username(); user != "" {
		options = append(options, kgo.SASL(plain.Auth{User: user, Pass: settings.Password}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	partitions, err := partitionsOf(client, name)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("the topic %s at %s cannot be used: %w", name, at.Host, err)
	}
	return &topic{client: client, partitions: partitions}, nil
}

func partitionsOf(client *kgo.Client, name string) (int64, error) {
	limited, cancel := context.WithTimeout(context.Background(), answerMax)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	of := kmsg.NewMetadataRequestTopic()
	of.Topic = kmsg.StringPtr(name)
	request.Topics = append(request.Topics, of)
	answer, err := request.RequestWith(limited, client)
	if err != nil {
		return 0, err
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) == 0 {
		return 0, errors.New("there is no such topic")
	}
	return int64(len(answer.Topics[0].Partitions)), nil
}

func (t *topic) Publish(stop context.Context, messages []Message) error {
	records := make([]*kgo.Record, len(messages))
	for at, message := range messages {
		records[at] = &kgo.Record{
			Partition: int32(message.Key % t.partitions),
			Key:       strconv.AppendInt(nil, message.Key, 10),
			Value:     message.Payload,
			// The timestamp of the record is the time of the write: the retention of the topic counts from it.
			Headers: []kgo.RecordHeader{{Key: createdHeader, Value: strconv.AppendInt(nil, message.Created.UnixMicro(), 10)}},
		}
	}
	return t.client.ProduceSync(stop, records...).FirstErr()
}

func (t *topic) Close() { t.client.Close() }
