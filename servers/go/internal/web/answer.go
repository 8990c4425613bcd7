package web

import (
	"net/http"
	"strconv"
	"time"

	"stackmark/net-http/internal/engine"
)

// Headers that are always the same. net/http changes none that it is given.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	retryAfter  = []string{"1"}
	closing     = []string{"close"}
)

// timing is when the parts of a call ended, and what the engine took of it.
type timing struct {
	begun, decoded, ran time.Time
	work                engine.CallWork
}

// refuse answers with a problem, without a call.
func (s *Service) refuse(w http.ResponseWriter, problem *Problem, begun time.Time) {
	x := s.exchanges.Get().(*exchange)
	defer s.keep(x)
	x.answer.reset()
	x.answer.Status = problem.Status
	x.answer.Body = problem.append(x.answer.Body)
	now := time.Now()
	s.write(w, x, problem, &timing{begun: begun, decoded: now, ran: now})
}

func (s *Service) health(w http.ResponseWriter, _ *http.Request) {
	if s.stopping.Load() {
		s.refuse(w, problemOf(engine.Shedding), time.Now())
		return
	}
	s.plain(w, `{"status":"ok"}`)
}

func (s *Service) sayAbout(w http.ResponseWriter, _ *http.Request) { s.plain(w, string(s.about)) }

func (s *Service) plain(w http.ResponseWriter, body string) {
	begun := time.Now()
	x := s.exchanges.Get().(*exchange)
	defer s.keep(x)
	x.answer.reset()
	x.answer.Body = append(x.answer.Body, body...)
	s.write(w, x, nil, &timing{begun: begun, decoded: begun, ran: begun})
}

// write sends the answer. Headers are set by their canonical names, which Header.Set would make anew each time.
func (s *Service) write(w http.ResponseWriter, x *exchange, problem *Problem, timing *timing) {
	answer, header := &x.answer, w.Header()
	switch {
	case problem != nil:
		header["Content-Type"] = typeProblem
		if problem.Status == http.StatusServiceUnavailable {
			header["Retry-After"] = retryAfter
		}
		if problem.close {
			header["Connection"] = closing
		}
	case answer.Status != http.StatusNoContent:
		header["Content-Type"] = typeJSON
	}
	if answer.Version != 0 {
		x.text = append(strconv.AppendInt(append(x.text[:0], '"'), answer.Version, 10), '"')
		header["Etag"] = []string{string(x.text)}
	}
	if answer.Status != http.StatusNoContent {
		header["Content-Length"] = []string{strconv.Itoa(len(answer.Body))}
	}
	x.text = timing.appendWork(x.text[:0])
	end := len(x.text)
	x.text = timing.append(x.text, time.Now())
	// One text and one slice for both.
	both := string(x.text)
	values := []string{both[:end], both[end:]}
	header["Stackmark-Work"], header["Server-Timing"] = values[:1:1], values[1:]
	w.WriteHeader(answer.Status)
	if answer.Status != http.StatusNoContent {
		// A client that is gone misses nothing.
		_, _ = w.Write(answer.Body)
	}
}

func (t *timing) appendWork(into []byte) []byte {
	into = strconv.AppendInt(append(into, "attempts="...), t.work.Attempts, 10)
	into = strconv.AppendInt(append(into, ", statements="...), t.work.Statements, 10)
	into = strconv.AppendInt(append(into, ", rows="...), t.work.Rows, 10)
	into = strconv.AppendInt(append(into, ", commits="...), t.work.Commits, 10)
	if t.work.Reconnects > 0 {
		into = strconv.AppendInt(append(into, ", reconnects="...), t.work.Reconnects, 10)
	}
	return into
}

// append writes Server-Timing. Waiting is for a connection alone: a handler has a goroutine of its own, so that nothing queues
// for a session beside that. What lies between the parts of the engine belongs to none of them.
func (t *timing) append(into []byte, now time.Time) []byte {
	spent := &t.work
	into = append(into, "queue;dur=0"...)
	into = appendMillis(append(into, ", pool;dur="...), spent.Pool)
	into = appendMillis(append(into, ", begin;dur="...), spent.Begin)
	into = appendMillis(append(into, ", query;dur="...), spent.Query)
	into = appendMillis(append(into, ", commit;dur="...), spent.Commit)
	into = appendMillis(append(into, ", encode;dur="...), t.decoded.Sub(t.begun)+now.Sub(t.ran))
	return appendMillis(append(into, ", total;dur="...), now.Sub(t.begun))
}

// appendMillis writes milliseconds with the nanosecond as their last place.
func appendMillis(into []byte, span time.Duration) []byte {
	nanos := max(int64(span), 0)
	into = strconv.AppendInt(into, nanos/1_000_000, 10)
	places := [...]byte{'.', '0', '0', '0', '0', '0', '0'}
	for at, rest := len(places)-1, nanos%1_000_000; at > 0; at-- {
		places[at] += byte(rest % 10)
		rest /= 10
	}
	return append(into, places[:]...)
}
