package outbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func read(given map[string]string) (*Settings, error) {
	return Read(func(name string) (string, bool) {
		value, there := given[name]
		return value, there
	})
}

func TestSettings(t *testing.T) {
	settings, err := read(map[string]string{"STACKMARK_SINK": "null"})
	if err != nil || settings.Batch != 500 {
		t.Fatal(settings, err)
	}
	polls := []struct{ rows, wanted int }{
		{500, 0}, {499, 2}, {32, 2}, {31, 4}, {1, 8}, {1, 8}, {200, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {0, 128}, {0, 256}, {0, 500}, {0, 500},
	}
	for at, poll := range polls {
		if found := settings.Rest(poll.rows); found != time.Duration(poll.wanted)*time.Millisecond {
			t.Error(at, poll, found)
		}
	}
	settings, err = read(map[string]string{"STACKMARK_SINK": "null", "STACKMARK_BATCH": "7", "STACKMARK_POLLING": "500ms"})
	if err != nil || settings.Batch != 7 || settings.Rest(0) != 500*time.Millisecond || settings.Rest(9) != 500*time.Millisecond {
		t.Error(settings, err)
	}
	for name, wrong := range map[string][]string{
		"STACKMARK_BATCH":   {"", "0", "x", "10001"},
		"STACKMARK_POLLING": {"", "0ms", "61s", "often", "1h", "1.5s", "5"},
	} {
		for _, value := range wrong {
			if _, err := read(map[string]string{"STACKMARK_SINK": "null", name: value}); err == nil || !strings.Contains(err.Error(), name) {
				t.Error(name, value, err)
			}
		}
	}
	if _, err := read(map[string]string{}); err == nil || !strings.Contains(err.Error(), "STACKMARK_SINK") {
		t.Error(err)
	}
}

func TestInvalidSinks(t *testing.T) {
	for _, sink := range []string{"", "nul", "file:", "amqp://h:1/t", "kafka://h/t", "kafka://h:1", "kafka://h:1/", "kafka://h:1/a/b"} {
		if _, err := Open(&Settings{Sink: sink, Password: "secret"}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Error(sink, err)
		}
	}
}

func TestPartialLastLineIsTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	if err := os.WriteFile(path, []byte("{1}\n{2"), 0o600); err != nil {
		t.Fatal(err)
	}
	sink, err := Open(&Settings{Sink: "file:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	for _, batch := range [][]Message{{{Payload: []byte("{2}")}, {Payload: []byte("{3}")}}, {{Payload: []byte("{4}")}}} {
		if err := sink.Publish(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "{1}\n{2}\n{3}\n{4}\n" {
		t.Errorf("%s", text)
	}
}
