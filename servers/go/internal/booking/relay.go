package booking

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/outbox"
	"stackmark/net-http/internal/relay"
	"stackmark/net-http/internal/web"
)

// Places of the relay's statements in RelayNames.
const (
	stmtTakeLease = iota
	stmtReadClock
	stmtReadOutbox
	stmtRemoveRows
)

// RelayNames are those of the statements of the relay.
var RelayNames = []string{"take_lease", "read_clock", "read_outbox", "remove_rows"}

const (
	// lease is for how long the relay has the outbox to itself, and prolongAfter when it takes it again.
	lease        = 3 * time.Second
	prolongAfter = time.Second
)

// Relay publishes the rows of the outbox in the order of their numbers, and removes those that were acknowledged. It remembers no
// place: it always reads the first rows that are there, so that a row whose transaction commits late is published too.
type Relay struct {
	pool     *engine.Pool
	settings *outbox.Settings
	sink     outbox.Sink
	log      func(line string)
	holder   int64
	// leased until prolongAfter has passed since then; zero where another relay works.
	leased time.Time
	// ahead is how far the clock of the database is ahead of ours.
	ahead time.Duration
}

// NewRelay is a relay over a pool with the statements of RelayNames.
func NewRelay(pool *engine.Pool, settings *outbox.Settings, sink outbox.Sink, log func(line string)) *Relay {
	return &Relay{pool: pool, settings: settings, sink: sink, log: log, holder: rand.Int64()}
}

// Run relays until it is to stop.
func (r *Relay) Run(stop context.Context) {
	relay.Run(stop, r.log, func() (int, error) { return r.turn(stop) }, r.settings.Rest)
	// Another relay need not wait until the lease has run out.
	_, _ = relay.Transaction(r.pool, engine.OneWrite, func(s *engine.Session) (bool, error) {
		_, err := s.Exec(stmtTakeLease, r.holder, int64(0))
		return true, err
	})
}

// turn publishes a batch.
func (r *Relay) turn(stop context.Context) (int, error) {
	if time.Since(r.leased) > prolongAfter {
		asked, isOurs, wasOurs := time.Now(), false, !r.leased.IsZero()
		r.leased = time.Time{}
		committed, err := relay.Transaction(r.pool, engine.OneWrite, func(s *engine.Session) (bool, error) {
			changed, err := s.Exec(stmtTakeLease, r.holder, lease.Microseconds())
			isOurs = changed == 1
			return true, err
		})
		if err != nil || !committed || !isOurs {
			return 0, err
		}
		if !wasOurs {
			if err := r.readClock(); err != nil {
				return 0, err
			}
		}
		r.leased = asked
	}
	var messages []outbox.Message
	var ids []string
	committed, err := relay.Transaction(r.pool, engine.OneRead, func(s *engine.Session) (bool, error) {
		messages, ids = messages[:0], ids[:0]
		_, err := s.Rows(stmtReadOutbox, func(row engine.Row) {
			id := row.Int(0)
			key := web.Key{Run: row.Int(2), Worker: row.Int(3), Sequence: row.Int(4)}
			of := asked{key: key, event: row.Int(5), user: row.Int(6), quantity: row.Int(7)}
			messages = append(messages, of.message(id, time.UnixMicro(row.Int(1)).Add(-r.ahead)))
			ids = append(ids, strconv.FormatInt(id, 10))
		}, r.settings.Batch)
		return true, err
	})
	if err != nil || !committed || len(messages) == 0 {
		return 0, err
	}
	if err := r.sink.Publish(stop, messages); err != nil {
		return 0, err
	}
	list := "[" + strings.Join(ids, ",") + "]"
	removed, err := relay.Transaction(r.pool, engine.OneWrite, func(s *engine.Session) (bool, error) {
		_, err := s.Exec(stmtRemoveRows, list)
		return true, err
	})
	if err != nil || !removed {
		// They are published again.
		return 0, err
	}
	return len(messages), nil
}

// readClock compares the clock of the database with ours, halfway between the request and its response.
func (r *Relay) readClock() error {
	before, theirs := time.Now(), time.Time{}
	committed, err := relay.Transaction(r.pool, engine.OneRead, func(s *engine.Session) (bool, error) {
		_, err := s.Rows(stmtReadClock, func(row engine.Row) { theirs = time.UnixMicro(row.Int(0)) })
		return true, err
	})
	if committed && !theirs.IsZero() {
		r.ahead = theirs.Sub(before.Add(time.Since(before) / 2))
	}
	return err
}

// message is the announcement of a booking, under its number in the outbox.
func (of *asked) message(position int64, created time.Time) outbox.Message {
	into := of.key.Append(append(make([]byte, 0, 128), `{"type":"booked","booking":"`...))
	into = strconv.AppendInt(append(into, `","event":`...), of.event, 10)
	into = strconv.AppendInt(append(into, `,"user":`...), of.user, 10)
	into = strconv.AppendInt(append(into, `,"quantity":`...), of.quantity, 10)
	into = strconv.AppendInt(append(into, `,"position":`...), position, 10)
	return outbox.Message{Key: of.event, Payload: append(into, '}'), Created: created}
}
