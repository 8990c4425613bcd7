package web

import (
	"time"

	"stackmark/net-http/internal/engine"
)

// About is the document at /about.
type About struct {
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	Contract string           `json:"contract"`
	Workload string           `json:"workload"`
	Scale    int64            `json:"scale"`
	Pool     int              `json:"pool"`
	Workers  int              `json:"workers"`
	PID      int              `json:"pid"`
	Limits   map[string]int64 `json:"limits"`
	Stack    *engine.Stack    `json:"stack"`
}

// Limits are those of a server with a pool of this size, by the contract's names. All threads share one pool.
func Limits(pool int) map[string]int64 {
	nanos := func(span time.Duration) int64 { return int64(span) }
	return map[string]int64{
		"body_bytes_max":         bodyBytesMax,
		"connections_max":        int64(connectionsMax()),
		"queued_max":             engine.QueuedMax,
		"head_read_ns_max":       nanos(headReadMax),
		"body_read_ns_max":       nanos(bodyReadMax),
		"idle_ns_max":            nanos(idleMax),
		"call_ns_max":            nanos(engine.CallMax),
		"drain_ns_max":           nanos(DrainMax),
		"connections-per-worker": int64(pool),
	}
}
