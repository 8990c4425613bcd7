// Package outbox has the sinks of messages and the settings of a relay.
package outbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What a relay does unless it is told otherwise, and how far it may be told.
const (
	restLeast = 2 * time.Millisecond
	restMost  = 500 * time.Millisecond
	fixedMost = time.Minute
	batch     = 500
	batchMax  = 10_000
	// From so many rows on a batch is large.
	largeBatch   = 32
	smallStepMax = 2
)

// Settings are those of a relay.
type Settings struct {
	// Sink is where messages go, as it is typed: `null`, `file:PATH`, `kafka://[USER@]HOST:PORT/TOPIC`.
	Sink     string
	Password string
	// Batch is how many messages are published together at most.
	Batch int64
	// fixed is the poll interval of the relay, or 0 where it is adaptive.
	fixed time.Duration
	// step is how often the wait has been doubled.
	step int
}

// Read reads the environment.
func Read(get func(name string) (string, bool)) (*Settings, error) {
	settings := &Settings{Batch: batch}
	settings.Sink, _ = get("STACKMARK_SINK")
	settings.Password, _ = get("STACKMARK_BROKER_PASSWORD")
	if settings.Sink == "" {
		return nil, fmt.Errorf("STACKMARK_SINK is not set; expected `null`, `file:PATH` or `kafka://HOST:PORT/TOPIC`")
	}
	if text, there := get("STACKMARK_BATCH"); there {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number < 1 || number > batchMax {
			return nil, fmt.Errorf("invalid STACKMARK_BATCH `%s`: expected 1 to %d", text, batchMax)
		}
		settings.Batch = number
	}
	if text, there := get("STACKMARK_POLLING"); there && text != "adaptive" {
		fixed, err := time.ParseDuration(text)
		isWhole := !strings.ContainsAny(text, ".hmnµ") || strings.HasSuffix(text, "ms")
		if err != nil || !isWhole || fixed < time.Millisecond || fixed > fixedMost {
			return nil, fmt.Errorf("invalid STACKMARK_POLLING `%s`: expected `adaptive`, or a time of 1ms to 60s such as 500ms", text)
		}
		settings.fixed = fixed
	}
	return settings, nil
}

// Rest is how long to wait after a poll that has found so many rows: not at all after a full batch, 2 ms after large ones, up to 8 ms after
// small ones, and twice as long after each poll that finds nothing, up to 500 ms.
func (s *Settings) Rest(rows int) time.Duration {
	switch {
	case rows == 0:
		s.step = min(s.step+1, 16)
	case rows < largeBatch:
		s.step = min(s.step+1, smallStepMax)
	default:
		s.step = 0
	}
	switch {
	case int64(rows) == s.Batch:
		return 0
	case s.fixed != 0:
		return s.fixed
	}
	return min(restLeast<<s.step, restMost)
}
