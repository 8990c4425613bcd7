package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of a pool.
const (
	// QueuedMax is how many calls may wait for a connection.
	QueuedMax = 4_096
	// CallMax is from the decoded call to its outcome, waiting included.
	CallMax = 60 * time.Second
	// quiet is how long a connection may lie there before it is looked at, whether it is still one.
	quiet = 50 * time.Millisecond
)

// Pool is a fixed number of connections for all handlers. Who waits longest gets the next free one: that is how the
// runtime hands over what is sent on a channel.
type Pool struct {
	opener  Opener
	free    chan *slot
	slots   []*slot
	waiting atomic.Int64
	log     func(line string)
}

// slot is a place for a connection: empty after one was lost, and filled by the next call that takes it.
type slot struct {
	session Session
	since   time.Time
	// taken is when a call took it, in nanoseconds since 1970; 0 while it is free. It is read while calls run.
	taken atomic.Int64
}

// NewPool opens all connections.
func NewPool(opener Opener, size int, log func(line string)) (*Pool, error) {
	pool := &Pool{opener: opener, free: make(chan *slot, size), slots: make([]*slot, size), log: log}
	deadline := time.Now().Add(CallMax)
	errors := make([]error, size)
	var opening sync.WaitGroup
	for at := range size {
		opening.Go(func() {
			conn, err := opener.Open(deadline)
			if err != nil {
				errors[at] = err
				return
			}
			pool.slots[at] = &slot{session: Session{conn: conn}, since: time.Now()}
			pool.free <- pool.slots[at]
		})
	}
	opening.Wait()
	for _, err := range errors {
		if err != nil {
			pool.Close(0)
			return nil, err
		}
	}
	return pool, nil
}

// Run runs a call on the next connection that is free.
func (p *Pool) Run(kind Kind, work *CallWork, body Body) *Fault {
	asked := time.Now()
	slot, fault := p.take()
	taken := time.Now()
	work.Pool = taken.Sub(asked)
	if fault != nil {
		return fault
	}
	slot.taken.Store(taken.UnixNano())
	defer p.put(slot)
	return p.runOn(slot, asked.Add(CallMax), taken, kind, work, body)
}

func (p *Pool) take() (*slot, *Fault) {
	select {
	case slot := <-p.free:
		return slot, nil
	default:
	}
	if p.waiting.Add(1) > QueuedMax {
		p.waiting.Add(-1)
		return nil, QueueFull
	}
	defer p.waiting.Add(-1)
	enough := time.NewTimer(CallMax)
	defer enough.Stop()
	select {
	case slot := <-p.free:
		return slot, nil
	case <-enough.C:
		return nil, NoSession
	}
}

func (p *Pool) put(slot *slot) {
	slot.since = time.Now()
	slot.taken.Store(0)
	p.free <- slot
}

func (p *Pool) runOn(slot *slot, deadline, now time.Time, kind Kind, work *CallWork, body Body) (fault *Fault) {
	session := &slot.session
	// A panic is a defect of the call, whose connection is in an unknown state.
	defer func() {
		if panicked := recover(); panicked != nil {
			fault = Defective("panic: %v", panicked)
		}
		if fault != nil && fault.Spoils() && session.conn != nil {
			session.conn.Close()
			session.conn = nil
		}
		if fault != nil && (fault.Class == InDoubt || fault == Unreachable) && !time.Now().Before(deadline) {
			fault = Deadline
		}
	}()
	wasClosed := false
	if session.conn != nil {
		// Before it is looked at: behind the last deadline a socket says nothing but that.
		session.conn.SetDeadline(deadline)
		if now.Sub(slot.since) > quiet && !session.conn.IsAlive() {
			session.conn.Close()
			session.conn = nil
			wasClosed = true
		}
	}
	if session.conn == nil {
		opened := time.Now()
		conn, err := p.opener.Open(deadline)
		work.Pool += time.Since(opened)
		if err != nil {
			p.log(fmt.Sprintf("no connection: %v", err))
			if unusable, known := err.(*OpenError); known && !unusable.Unreachable {
				return NoSession
			}
			return Unreachable
		}
		session.conn = conn
		if wasClosed {
			work.Reconnects++
		}
		conn.SetDeadline(deadline)
	}
	return session.run(kind, work, body)
}

// Close closes the connections that are free within a time. Whether these were all.
func (p *Pool) Close(within time.Duration) bool {
	enough := time.NewTimer(within)
	defer enough.Stop()
	for range cap(p.free) {
		select {
		case slot := <-p.free:
			if slot.session.conn != nil {
				slot.session.conn.Close()
			}
			continue
		default:
		}
		select {
		case slot := <-p.free:
			if slot.session.conn != nil {
				slot.session.conn.Close()
			}
		case <-enough.C:
			return false
		}
	}
	return true
}

// Busy is how long each call has had its connection that has one now, the longest first.
func (p *Pool) Busy() []time.Duration {
	var busy []time.Duration
	now := time.Now().UnixNano()
	for _, slot := range p.slots {
		if taken := slot.taken.Load(); taken != 0 {
			busy = append(busy, time.Duration(now-taken))
		}
	}
	slices.SortFunc(busy, func(a, b time.Duration) int { return int(b - a) })
	return busy
}

// OpenError is why there is no connection.
type OpenError struct {
	// Unreachable where trying again may help.
	Unreachable bool
	Place, Why  string
}

func (e *OpenError) Error() string { return e.Place + ": " + e.Why }
