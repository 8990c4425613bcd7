package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is an engine whose connections do what they are told.
type fake struct {
	open, opened atomic.Int64
	refuse       atomic.Bool
	dead         atomic.Bool
	ended        []string
}

func (f *fake) Stack() *Stack { return nil }

func (f *fake) Open(time.Time) (Conn, error) {
	if f.refuse.Load() {
		return nil, &OpenError{Unreachable: true, Place: "here", Why: "it is down"}
	}
	f.open.Add(1)
	f.opened.Add(1)
	return &fakeConn{fake: f}, nil
}

type fakeConn struct{ *fake }

func (c *fakeConn) Begin(Kind) error                  { return nil }
func (c *fakeConn) Commit() error                     { c.ended = append(c.ended, "commit"); return nil }
func (c *fakeConn) Rollback() error                   { c.ended = append(c.ended, "rollback"); return nil }
func (c *fakeConn) Exec(int, []any) (int64, error)    { return 2, nil }
func (c *fakeConn) Query(int, []any, func(Row)) error { return nil }
func (c *fakeConn) IsAlive() bool                     { return !c.dead.Load() }
func (c *fakeConn) SetDeadline(time.Time)             {}
func (c *fakeConn) Close()                            { c.open.Add(-1) }

func pool(t *testing.T, of *fake, size int) *Pool {
	t.Helper()
	made, err := NewPool(of, size, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func nothing(*Session) (bool, error) { return true, nil }

func TestThereAreNeverMoreConnectionsThanAsked(t *testing.T) {
	var of fake
	var busy, most atomic.Int64
	made := pool(t, &of, 3)
	var calls sync.WaitGroup
	for range 200 {
		calls.Go(func() {
			fault := made.Run(OneWrite, new(CallWork), func(*Session) (bool, error) {
				if now := busy.Add(1); now > most.Load() {
					most.Store(now)
				}
				defer busy.Add(-1)
				return true, nil
			})
			if fault != nil {
				t.Error(fault)
			}
		})
	}
	calls.Wait()
	if of.opened.Load() != 3 || most.Load() > 3 {
		t.Error(of.opened.Load(), most.Load())
	}
	if !made.Close(time.Second) || of.open.Load() != 0 {
		t.Error("not all were closed")
	}
}

func TestCallsThatHaveAConnectionAreKnown(t *testing.T) {
	var of fake
	made := pool(t, &of, 2)
	running := func(*Session) (bool, error) {
		if busy := made.Busy(); len(busy) != 1 || busy[0] < 0 {
			t.Error(busy)
		}
		return true, nil
	}
	if fault := made.Run(Write, new(CallWork), running); fault != nil || len(made.Busy()) != 0 {
		t.Error(fault, made.Busy())
	}
}

func TestABrokenConnectionIsReplacedWhenItIsNextUsed(t *testing.T) {
	var of fake
	made := pool(t, &of, 1)
	lost := func(*Session) (bool, error) { return false, ConnectionLost }
	if fault := made.Run(Write, new(CallWork), lost); fault != ConnectionLost || of.open.Load() != 0 {
		t.Fatal(fault, of.open.Load())
	}
	of.refuse.Store(true)
	if fault := made.Run(Write, new(CallWork), nothing); fault != Unreachable {
		t.Fatal(fault)
	}
	of.refuse.Store(false)
	if fault := made.Run(Write, new(CallWork), nothing); fault != nil || of.opened.Load() != 2 {
		t.Fatal(fault)
	}
}

func TestAConnectionThatDiedInItsSleepIsReplacedBeforeItIsUsed(t *testing.T) {
	var of fake
	made := pool(t, &of, 1)
	of.dead.Store(true)
	slot := <-made.free
	slot.since = slot.since.Add(-time.Minute)
	made.free <- slot
	var work CallWork
	if fault := made.Run(OneWrite, &work, nothing); fault != nil || of.opened.Load() != 2 || of.open.Load() != 1 {
		t.Error(fault, of.opened.Load(), of.open.Load())
	}
	if work.Reconnects != 1 {
		t.Error(work)
	}
}

func TestOnlyConflictsAreTriedAgain(t *testing.T) {
	for _, row := range []struct {
		fault    error
		attempts int64
	}{{Deadlock, 10}, {Serialization, 10}, {CommitUnanswered, 1}, {Unreachable, 1}, {errors.New("x"), 1}} {
		var of fake
		var work CallWork
		fault := pool(t, &of, 1).Run(Write, &work, func(s *Session) (bool, error) {
			_, _ = s.Exec(0)
			return false, row.fault
		})
		if fault == nil || work.Attempts != row.attempts || work.Statements != row.attempts || work.Rows != 2*row.attempts || work.Commits != 0 {
			t.Error(row, fault, work)
		}
	}
}

func TestWhatIsDeclinedIsRolledBack(t *testing.T) {
	var of fake
	var work CallWork
	made := pool(t, &of, 1)
	_ = made.Run(Write, &work, func(*Session) (bool, error) { return false, nil })
	_ = made.Run(Write, &work, nothing)
	_ = made.Run(OneWrite, &work, nothing)
	if len(of.ended) != 2 || of.ended[0] != "rollback" || of.ended[1] != "commit" || work.Commits != 2 {
		t.Error(of.ended, work)
	}
}

func TestAPanicIsADefectAndCostsTheConnection(t *testing.T) {
	var of fake
	made := pool(t, &of, 1)
	fault := made.Run(Write, new(CallWork), func(*Session) (bool, error) { panic("x") })
	if fault == nil || fault.Class != Defect || of.open.Load() != 0 {
		t.Error(fault)
	}
	if fault := made.Run(Write, new(CallWork), nothing); fault != nil {
		t.Error(fault)
	}
}

func TestTheQueueHasAnEnd(t *testing.T) {
	var of fake
	made := pool(t, &of, 1)
	made.waiting.Store(QueuedMax)
	slot := <-made.free
	if fault := made.Run(Write, new(CallWork), nothing); fault != QueueFull {
		t.Error(fault)
	}
	made.free <- slot
}
