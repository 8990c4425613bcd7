package engine

import "time"

// attemptsMax is how often a call is tried in all. Only conflicts are tried again, at once: engines that lock have made the
// caller wait already.
const attemptsMax = 10

// CallWork is what a call took, summed over its attempts.
type CallWork struct {
	Attempts, Statements, Rows, Commits int64
	// Reconnects counts connections that were opened again because they had been closed between calls.
	Reconnects int64
	// Spent in waiting for a connection, and then in its transaction.
	Pool, Begin, Query, Commit time.Duration
}

// Session runs calls on a connection and counts what they take. It has scratch space for parameters.
type Session struct {
	conn Conn
	kind Kind
	args []any
	work *CallWork
}

// Body is what a call does between begin and commit. It says whether what was done is to stay; it may be called again, from
// the start.
type Body func(s *Session) (commit bool, err error)

// run makes attempts until one ends without a conflict.
func (s *Session) run(kind Kind, work *CallWork, body Body) (fault *Fault) {
	s.kind, s.work = kind, work
	for range attemptsMax {
		fault = s.attempt(body)
		if fault == nil || fault.Class != Conflict {
			break
		}
	}
	return fault
}

func (s *Session) attempt(body Body) *Fault {
	s.work.Attempts++
	if s.kind == Steps {
		_, err := body(s)
		return faultOf(err)
	}
	return s.transaction(s.kind, body)
}

// Transaction runs one transaction of a call of several (Steps).
func (s *Session) Transaction(kind Kind, body Body) error {
	if fault := s.transaction(kind, body); fault != nil {
		return fault
	}
	return nil
}

func (s *Session) transaction(kind Kind, body Body) *Fault {
	asked := time.Now()
	err := s.conn.Begin(kind)
	begun := time.Now()
	s.work.Begin += begun.Sub(asked)
	if err != nil {
		return faultOf(err)
	}
	commit, err := body(s)
	ended := time.Now()
	s.work.Query += ended.Sub(begun)
	if kind.IsOne() && err == nil {
		if commit {
			s.work.Commits++
		}
		return nil
	}
	switch {
	case err != nil:
		// The fault of the body tells more than one of the roll-back that follows it.
		if fault := faultOf(err); !fault.Spoils() {
			if undone := s.conn.Rollback(); undone != nil {
				err = undone
			}
		}
	case commit:
		if err = s.conn.Commit(); err == nil {
			s.work.Commits++
		}
	default:
		err = s.conn.Rollback()
	}
	s.work.Commit += time.Since(ended)
	return faultOf(err)
}

func faultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	if fault, known := err.(*Fault); known {
		return fault
	}
	return Defective("%v", err)
}

// Exec runs a statement and says how many rows it changed, or found to be as they should be.
func (s *Session) Exec(statement int, args ...any) (int64, error) {
	// The slice of a call through an interface would be on the heap each time.
	s.args = append(s.args[:0], args...)
	changed, err := s.conn.Exec(statement, s.args)
	if err == nil {
		s.work.Statements++
		s.work.Rows += changed
	}
	return changed, err
}

// ExecMany is Exec with parameters that the caller has in a slice.
func (s *Session) ExecMany(statement int, args []any) (int64, error) {
	changed, err := s.conn.Exec(statement, args)
	if err == nil {
		s.work.Statements++
		s.work.Rows += changed
	}
	return changed, err
}

// Rows runs a statement and gives each row to read.
func (s *Session) Rows(statement int, read func(row Row), args ...any) (int64, error) {
	s.args = append(s.args[:0], args...)
	rows := int64(0)
	err := s.conn.Query(statement, s.args, func(row Row) {
		rows++
		read(row)
	})
	if err == nil {
		s.work.Statements++
		s.work.Rows += rows
	}
	return rows, err
}

// One runs a statement that finds one row or none, and says which. Of more rows it reads the first.
func (s *Session) One(statement int, read func(row Row), args ...any) (bool, error) {
	s.args = append(s.args[:0], args...)
	found := false
	err := s.conn.Query(statement, s.args, func(row Row) {
		if !found {
			found = true
			read(row)
		}
	})
	if err == nil {
		s.work.Statements++
		if found {
			s.work.Rows++
		}
	}
	return found, err
}
