// Package web is HTTP: requests to calls, outcomes to answers, with the headers and problem documents of the contract. It knows
// no workload.
package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stackmark/net-http/internal/engine"
)

// Limits of requests. Others are in listen.go and in internal/engine.
const (
	bodyBytesMax = 65_536
	bodyReadMax  = 10 * time.Second
	// keptMax is how large the buffers of an exchange may be that is kept for another.
	keptMax = 256 << 10
)

// Service answers requests.
type Service struct {
	router router
	// pools are one for each database.
	pools     []*engine.Pool
	about     []byte
	log       func(line string)
	exchanges sync.Pool
	stopping  atomic.Bool
}

// exchange has the buffers of a request and its answer.
type exchange struct {
	in     []byte
	answer Answer
	text   []byte
}

// New makes a service of a workload's routes.
func New(routes []Route, pools []*engine.Pool, about *About, log func(line string)) (*Service, error) {
	document, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	s := &Service{router: router{fixed: map[string]*place{}}, pools: pools, about: document, log: log}
	s.exchanges.New = func() any {
		return &exchange{in: make([]byte, 0, 1<<10), answer: Answer{Body: make([]byte, 0, 4<<10)}, text: make([]byte, 0, 256)}
	}
	for _, route := range routes {
		s.router.add(route.Method, route.Path, method{decode: route.Decode})
	}
	s.router.add("GET", "/health", method{serve: (*Service).health})
	s.router.add("GET", "/about", method{serve: (*Service).sayAbout})
	return s, nil
}

// Stop has calls refused from now on.
func (s *Service) Stop() { s.stopping.Store(true) }

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	// As it came: a decoded path could have a slash in an id.
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	if r.ContentLength != 0 {
		// Also of a body that nobody reads: net/http goes to its end before it answers.
		_ = http.NewResponseController(w).SetReadDeadline(begun.Add(bodyReadMax))
	}
	at, id := s.router.find(path)
	if at == nil {
		s.refuse(w, unknownPath, begun)
		return
	}
	method := at.method(r.Method)
	switch {
	case method == nil:
		w.Header()["Allow"] = at.allow
		s.refuse(w, methodNotAllowed, begun)
	case method.serve != nil:
		method.serve(s, w, r)
	default:
		s.call(w, r, method, id, begun)
	}
}

// call answers a call. Its parts follow each other without a gap, so that they add up to the total.
func (s *Service) call(w http.ResponseWriter, r *http.Request, method *method, id string, begun time.Time) {
	x := s.exchanges.Get().(*exchange)
	defer s.keep(x)
	// One in a transaction is a defect of its call already. For any other the connection is cut, which net/http does by
	// itself, but without a word.
	defer func() {
		if panicked := recover(); panicked != nil {
			s.log(fmt.Sprintf("defect: panic: %v", panicked))
			panic(http.ErrAbortHandler)
		}
	}()
	timing := timing{begun: begun}
	call, problem := s.decode(w, r, x, method, id)
	timing.decoded = time.Now()
	x.answer.reset()
	if problem == nil {
		fault := s.run(&call, x, &timing.work)
		timing.ran = time.Now()
		if fault != nil {
			problem = problemOf(fault)
			x.answer.reset()
			if fault.Class == engine.Defect {
				s.log("defect: " + fault.Detail)
			}
		} else {
			problem = x.answer.Problem
		}
	} else {
		timing.ran = timing.decoded
	}
	if problem != nil {
		x.answer.Status, x.answer.Version = problem.Status, 0
		x.answer.Body = problem.append(x.answer.Body[:0])
	}
	s.write(w, x, problem, &timing)
}

func (s *Service) run(call *Call, x *exchange, work *engine.CallWork) *engine.Fault {
	if s.stopping.Load() {
		return engine.Shedding
	}
	return s.pools[call.Store].Run(call.Kind, work, func(session *engine.Session) (bool, error) {
		x.answer.reset()
		return call.Run(session, &x.answer)
	})
}

func (s *Service) keep(x *exchange) {
	if cap(x.in) <= keptMax && cap(x.answer.Body) <= keptMax {
		s.exchanges.Put(x)
	}
}

func (s *Service) decode(w http.ResponseWriter, r *http.Request, x *exchange, method *method, id string) (Call, *Problem) {
	if r.Method != http.MethodGet && r.Method != http.MethodDelete && !isJSON(r.Header["Content-Type"]) {
		return Call{}, unsupportedType
	}
	if r.ContentLength != 0 {
		if problem := read(w, r, x); problem != nil {
			return Call{}, problem
		}
	} else {
		x.in = x.in[:0]
	}
	return method.decode(&Request{ID: id, Query: r.URL.RawQuery, Header: r.Header, Body: x.in})
}

// read reads a body, never more of it than its limit.
func read(w http.ResponseWriter, r *http.Request, x *exchange) *Problem {
	if r.ContentLength > bodyBytesMax {
		return bodyTooLarge
	}
	x.in = x.in[:0]
	for {
		if len(x.in) == cap(x.in) {
			x.in = append(x.in, 0)[:len(x.in)]
		}
		n, err := r.Body.Read(x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		switch {
		case len(x.in) > bodyBytesMax:
			return bodyTooLarge
		case err == io.EOF:
			// net/http watches the connection while a call runs, and would take a deadline that passes then for its end.
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return bodyTooSlow
		case err != nil:
			return bodyBroken
		}
	}
}

// isJSON tells whether the content type is application/json, said once, and in UTF-8 where it says in what.
func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, parameters, _ := strings.Cut(types[0], ";")
	if !strings.EqualFold(textproto.TrimString(media), "application/json") {
		return false
	}
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(textproto.TrimString(name), "charset") {
			continue
		}
		value = textproto.TrimString(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}
