package booking

import (
	"net/http"
	"strconv"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// Why calls are declined.
var (
	alreadyBooked = because(409, "already-booked", "the user has a booking of this event, which allows each user one")
	keyReused     = because(422, "key-reused", "the key was used for another booking")
	noSuchBooking = because(404, "no-such-booking", "there is no such booking")
)

func because(status int, kind, title string) *web.Problem {
	problem := web.Declined(status, kind, title)
	problem.Detail = "the call was declined, and booked nothing"
	return problem
}

// soldOut is the answer of an event that has fewer tickets than were asked for.
func soldOut(available int64) *web.Problem {
	problem := because(409, "sold-out", "the event has fewer tickets left")
	problem.Remaining, problem.RemainingField = &available, "available"
	return problem
}

// seen is what is known before a booking is written.
type seen struct {
	available int64
	isLimited bool
	isTaken   bool
	// isKept says whether something is stored under the key, and isSame whether that is the same booking.
	isKept, isSame bool
}

// answer is what the call is answered as far as that is decided; nothing where it is to be booked.
func (s *seen) answer(of *asked) (problem *web.Problem, repeated bool) {
	switch {
	case s.isKept && !s.isSame:
		return keyReused, false
	case s.isKept:
		return nil, true
	case s.isTaken:
		return alreadyBooked, false
	case s.available < of.quantity:
		return soldOut(s.available), false
	}
	return nil, false
}

// book looks without a transaction first: what is sold out, booked already or asked for again is answered by one read. Whether
// somebody has changed the rows since is found by the writes, and then another look tells what to answer.
func (o *Office) book(s *engine.Session, a *web.Answer, of *asked) error {
	before, err := look(s, of)
	if err != nil {
		return err
	}
	problem, repeated := before.answer(of)
	if problem != nil || repeated {
		return answered(a, of, problem)
	}
	done := false
	err = s.Transaction(engine.Write, func(s *engine.Session) (bool, error) {
		done, err = o.write(s, of, before.isLimited)
		return done, err
	})
	if err != nil {
		return err
	}
	if done {
		return answered(a, of, nil)
	}
	after, err := look(s, of)
	if err != nil {
		return err
	}
	if problem, repeated = after.answer(of); problem == nil && !repeated {
		// The tickets came back, or the transaction that had the key was rolled back: all of it may be tried again.
		return engine.Serialization
	}
	return answered(a, of, problem)
}

// write writes the key first, because a transaction that waits for a key must hold no row that others wait for. The row of the
// outbox comes last: while the event is locked, its bookings get their numbers in the order in which they commit.
func (o *Office) write(s *engine.Session, of *asked, isLimited bool) (bool, error) {
	var limitedTo any
	if isLimited {
		limitedTo = of.user
	}
	key := of.key
	inserted, err := s.Exec(stmtInsertBooking, key.Run, key.Worker, key.Sequence, of.event, of.user, of.quantity, limitedTo)
	if err != nil || inserted != 1 {
		return false, err
	}
	taken, err := s.Exec(stmtTakeTickets, of.event, of.quantity)
	if err != nil || taken != 1 {
		return false, err
	}
	if o.announces {
		_, err = s.Exec(stmtInsertOutbox, key.Run, key.Worker, key.Sequence, of.event, of.user, of.quantity)
	}
	return err == nil, err
}

func look(s *engine.Session, of *asked) (*seen, error) {
	found, err := lookBy(s, stmtLook, of)
	if err != nil || !found.isLimited || found.isKept {
		return found, err
	}
	return lookBy(s, stmtLookLimited, of)
}

func lookBy(s *engine.Session, stmt int, of *asked) (*seen, error) {
	var found seen
	key, there := of.key, false
	err := s.Transaction(engine.OneRead, func(s *engine.Session) (_ bool, err error) {
		there, err = s.One(stmt, func(row engine.Row) {
			found = seen{available: row.Int(0), isLimited: row.Int(1) != 0, isKept: !row.IsNull(2)}
			found.isSame = found.isKept && row.Int(2) == 1
			found.isTaken = stmt == stmtLookLimited && row.Int(3) != 0
		}, of.event, key.Run, key.Worker, key.Sequence, of.user, of.quantity)
		return true, err
	})
	if err == nil && !there {
		err = absent(of.event)
	}
	return &found, err
}

// absent is an event that the load has made and that is not there any more.
func absent(event int64) error { return engine.Defective("there is no event %d", event) }

func answered(a *web.Answer, of *asked, problem *web.Problem) error {
	if problem != nil {
		_, err := a.Decline(problem)
		return err
	}
	a.Status, a.Body = http.StatusCreated, of.append(a.Body)
	return nil
}

// append writes a booking as its answers have it.
func (of *asked) append(into []byte) []byte {
	into = of.key.Append(append(into, `{"id":"`...))
	into = strconv.AppendInt(append(into, `","event":`...), of.event, 10)
	into = strconv.AppendInt(append(into, `,"user":`...), of.user, 10)
	return append(strconv.AppendInt(append(into, `,"quantity":`...), of.quantity, 10), '}')
}

func readBooking(s *engine.Session, a *web.Answer, key web.Key) (bool, error) {
	there, err := s.One(stmtReadBooking, func(row engine.Row) {
		found := asked{key: key, event: row.Int(0), user: row.Int(1), quantity: row.Int(2)}
		a.Body = found.append(a.Body)
	}, key.Run, key.Worker, key.Sequence)
	if err == nil && !there {
		// A read that finds nothing has read all the same.
		_, err = a.Decline(noSuchBooking)
	}
	return true, err
}

func readEvent(s *engine.Session, a *web.Answer, id int64) (bool, error) {
	there, err := s.One(stmtReadEvent, func(row engine.Row) {
		a.Body = strconv.AppendInt(append(a.Body, `{"stock":`...), row.Int(0), 10)
		a.Body = append(strconv.AppendInt(append(a.Body, `,"available":`...), row.Int(1), 10), '}')
	}, id)
	if err == nil && !there {
		err = absent(id)
	}
	return true, err
}
