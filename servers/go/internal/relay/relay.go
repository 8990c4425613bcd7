// Package relay is the loop of a relay, whatever it brings somewhere.
package relay

import (
	"context"
	"time"

	"stackmark/net-http/internal/engine"
)

// errorBackoff is for a database or a sink that is unavailable.
const errorBackoff = 200 * time.Millisecond

// Run takes turns until it is to stop. After a turn it waits as long as rest says for what was done in it. An error that differs from the one
// before is logged.
func Run(stop context.Context, log func(line string), turn func() (done int, err error), rest func(done int) time.Duration) {
	lastError := ""
	for stop.Err() == nil {
		done, err := turn()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != lastError && text != "" {
			log("relay: " + text)
		}
		lastError = text
		wait := errorBackoff
		if err == nil {
			wait = rest(done)
		}
		if wait == 0 {
			continue
		}
		select {
		case <-stop.Done():
		case <-time.After(wait):
		}
	}
}

// Transaction runs one on a pool, and says whether it was committed: a conflict is no error, since somebody else was there at the same
// moment.
func Transaction(pool *engine.Pool, kind engine.Kind, body engine.Body) (committed bool, err error) {
	switch fault := pool.Run(kind, new(engine.CallWork), body); {
	case fault == nil:
		return true, nil
	case fault.Class == engine.Conflict:
		return false, nil
	default:
		return false, fault
	}
}
