package transfer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/relay"
	"stackmark/net-http/internal/web"
)

const (
	// batchMax messages are relayed together at most: the statements for many rows have so many.
	batchMax       = 64
	connectionsMax = 16
	// rest is for how long a relay that has found nothing waits before it looks again.
	rest = 5 * time.Millisecond
	// What the store of a target has made of a transfer.
	refused = 2
)

// Relay brings what is in the outbox of each store to the stores that it is for, and settles it where it came from. It keeps
// nothing that it needs: whatever it leaves half done the next one finds.
type Relay struct {
	stores *Stores
	// pools have a connection to each store for each direction in which is relayed at the same time.
	pools    []*engine.Pool
	settings RelaySettings
	log      func(line string)
}

// RelaySettings are how many messages a relay takes at once, 1 to 64, and in how many directions it relays at the same time.
type RelaySettings struct {
	Batch, Connections int
}

// ReadRelay reads the environment.
func ReadRelay(get func(name string) (string, bool)) (RelaySettings, error) {
	settings := RelaySettings{Batch: batchMax, Connections: 1}
	for _, of := range []struct {
		name string
		into *int
		most int
	}{{"STACKMARK_BATCH", &settings.Batch, batchMax}, {"STACKMARK_RELAY_CONNECTIONS", &settings.Connections, connectionsMax}} {
		if text, there := get(of.name); there {
			number, err := strconv.Atoi(text)
			if err != nil || number < 1 || number > of.most {
				return settings, fmt.Errorf("invalid %s `%s`: expected 1 to %d", of.name, text, of.most)
			}
			*of.into = number
		}
	}
	return settings, nil
}

// NewRelay is a relay over a pool for each store, with the statements of RelayNames and a connection for each of settings.Connections.
func NewRelay(stores *Stores, pools []*engine.Pool, settings RelaySettings, log func(line string)) *Relay {
	return &Relay{stores: stores, pools: pools, settings: settings, log: log}
}

// Run relays until it is to stop.
func (r *Relay) Run(stop context.Context) {
	relay.Run(stop, r.log, r.turn, func(done int) time.Duration {
		if done > 0 {
			return 0
		}
		return rest
	})
}

// turn relays a batch between each two stores.
func (r *Relay) turn() (done int, wrong error) {
	var (
		relaying sync.WaitGroup
		results  sync.Mutex
		free     = make(chan struct{}, r.settings.Connections)
	)
	for from := range r.pools {
		for to := range r.pools {
			if from == to {
				continue
			}
			free <- struct{}{}
			relaying.Go(func() {
				relayed, err := r.relay(from, to)
				results.Lock()
				defer results.Unlock()
				done += relayed
				if err != nil && wrong == nil {
					wrong = err
				}
				<-free
			})
		}
	}
	relaying.Wait()
	return done, wrong
}

// message is a transfer that is on its way.
type message struct {
	created int64
	asked
	refused bool
}

func (r *Relay) relay(from, to int) (int, error) {
	var messages []message
	fault := r.pools[from].Run(engine.OneRead, new(engine.CallWork), func(s *engine.Session) (_ bool, err error) {
		messages, err = r.read(s, to)
		return true, err
	})
	if fault != nil || len(messages) == 0 {
		return 0, wrong(from, fault)
	}
	batch := rand.Int64()
	fault = r.pools[to].Run(engine.Write, new(engine.CallWork), func(s *engine.Session) (bool, error) {
		return true, give(s, batch, messages)
	})
	if fault != nil {
		// What was not given is not settled.
		return 0, wrong(to, fault)
	}
	fault = r.pools[from].Run(engine.Write, new(engine.CallWork), func(s *engine.Session) (bool, error) {
		return true, settle(s, batch, messages)
	})
	if fault != nil {
		return 0, wrong(from, fault)
	}
	return len(messages), nil
}

// wrong is what is worth a word: not that somebody else was there at the same moment.
func wrong(store int, fault *engine.Fault) error {
	if fault == nil || fault.Class == engine.Conflict {
		return nil
	}
	return fmt.Errorf("shard-%d: %w", store, fault)
}

func (r *Relay) read(s *engine.Session, to int) ([]message, error) {
	messages := make([]message, 0, batchMax)
	within := r.stores.ranges[to]
	_, err := s.Rows(stmtReadOutbox, func(row engine.Row) {
		of := message{created: row.Int(0)}
		of.key = web.Key{Run: row.Int(1), Worker: row.Int(2), Sequence: row.Int(3)}
		of.source, of.target, of.amount = row.Int(4), row.Int(5), row.Int(6)
		messages = append(messages, of)
	}, within[0], within[1], int64(r.settings.Batch))
	return messages, err
}

// give gives what is new of a batch to its accounts, and notes of each whether it was refused.
func give(s *engine.Session, batch int64, messages []message) error {
	inserted, err := s.ExecMany(stmtInsertInbox, many(messages, func(of *message) []any {
		return []any{of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.target, of.amount, batch}
	}))
	if err != nil {
		return err
	}
	known := map[int64]bool{}
	allKnown := true
	if inserted > 0 {
		if _, err := s.Rows(stmtLockTargets, func(row engine.Row) { known[row.Int(0)] = true }, batch); err != nil {
			return err
		}
		for at := range messages {
			allKnown = allKnown && known[messages[at].target]
		}
		if !allKnown {
			if _, err := s.Exec(stmtRefuseCredits, batch); err != nil {
				return err
			}
		}
		if _, err := s.Exec(stmtCreditAccounts, batch); err != nil {
			return err
		}
		if _, err := s.Exec(stmtInsertCredits, batch); err != nil {
			return err
		}
	}
	if allKnown && inserted == int64(len(messages)) {
		return nil
	}
	// Some were there before, or were refused.
	for at := range messages {
		of, state := &messages[at], int64(0)
		there, err := s.One(stmtReadInbox, func(row engine.Row) { state = row.Int(0) }, of.key.Run, of.key.Worker, of.key.Sequence, of.source)
		if err != nil {
			return err
		}
		if !there {
			return engine.Defective("a message that was taken is not in the inbox")
		}
		of.refused = state == refused
	}
	return nil
}

// settle settles a batch where it came from; what nobody has settled before.
func settle(s *engine.Session, batch int64, messages []message) error {
	for at := range messages {
		if of := &messages[at]; of.refused {
			if err := refund(s, of); err != nil {
				return err
			}
		}
	}
	if _, err := s.ExecMany(stmtInsertSettlement, many(messages, func(of *message) []any {
		state := int64(settled)
		if of.refused {
			state = refunded
		}
		return []any{batch, of.created, of.key.Run, of.key.Worker, of.key.Sequence, of.source, state}
	})); err != nil {
		return err
	}
	for _, statement := range []int{stmtSettleTransfers, stmtDeleteMessages, stmtDeleteSettlement} {
		if _, err := s.Exec(statement, batch); err != nil {
			return err
		}
	}
	return nil
}

// refund gives money back, unless somebody has done so.
func refund(s *engine.Session, of *message) error {
	changed, err := s.Exec(stmtRefundTransfer, of.key.Run, of.key.Worker, of.key.Sequence, of.source)
	if err != nil || changed == 0 {
		return err
	}
	if changed, err = s.Exec(stmtRefundAccount, of.source, of.amount); err != nil {
		return err
	}
	if changed != 1 {
		return engine.Defective("an account that has paid is not there any more")
	}
	_, err = s.Exec(stmtInsertRefund, of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.amount)
	return err
}

// many has the parameters of a statement for many rows, of which the last is there again in place of those that are missing.
func many(messages []message, row func(of *message) []any) []any {
	args := make([]any, 0, batchMax*7)
	for at := range batchMax {
		args = append(args, row(&messages[min(at, len(messages)-1)])...)
	}
	return args
}
