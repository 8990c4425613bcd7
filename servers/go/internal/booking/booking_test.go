package booking

import (
	"net/http"
	"testing"
	"time"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

const digits = "8123456789abcdef0000000700000013"

func TestABookingIsReadAsTheContractHasIt(t *testing.T) {
	office := NewOffice(4, false)
	header := http.Header{"Idempotency-Key": {digits}}
	ask := func(body string) (web.Call, *web.Problem) {
		return office.decodeBook(&web.Request{Body: []byte(body), Header: header})
	}
	if call, problem := ask(`{"quantity":10,"user":999999999,"event":4}`); problem != nil || call.Kind != engine.Steps {
		t.Error(call, problem)
	}
	for body, wanted := range map[string]string{
		`{"event":1,"user":2}`:                       "invalid",
		`{"event":1,"user":2,"quantity":0}`:          "invalid",
		`{"event":1,"user":2,"quantity":11}`:         "invalid",
		`{"event":1,"user":0,"quantity":1}`:          "invalid",
		`{"event":1,"user":1000000000,"quantity":1}`: "invalid",
		`{"event":1,"user":2,"quantity":-1}`:         "invalid",
		`{"event":1,"user":2,"quantity":1,"more":1}`: "invalid",
		`{"event":0,"user":2,"quantity":1}`:          "unknown-id",
		`{"event":5,"user":2,"quantity":1}`:          "unknown-id",
		`{"event":1,"user":2,"quantity":1`:           "malformed",
	} {
		if _, problem := ask(body); problem == nil || problem.Type != wanted {
			t.Error(body, problem)
		}
	}
	if _, problem := office.decodeBook(&web.Request{Body: []byte(`{}`), Header: http.Header{}}); problem == nil || problem.Type != "invalid" {
		t.Error(problem)
	}
	for id, wanted := range map[string]string{"5": "unknown-id", "0": "unknown-id", "x": "unknown-id"} {
		if _, problem := office.decodeReadEvent(&web.Request{ID: id}); problem == nil || problem.Type != wanted {
			t.Error(id, problem)
		}
	}
	if _, problem := office.decodeReadBooking(&web.Request{ID: digits[1:]}); problem == nil || problem.Type != "unknown-id" {
		t.Error(problem)
	}
}

func TestFirstDeclineReasonWins(t *testing.T) {
	key, _ := web.ParseKey(digits)
	of := asked{key: key, event: 1, user: 2, quantity: 3}
	for name, at := range map[string]struct {
		seen     seen
		kind     string
		repeated bool
	}{
		"another booking under the key": {seen{isKept: true, isTaken: true}, "key-reused", false},
		"the same again":                {seen{isKept: true, isSame: true, isTaken: true}, "", true},
		"the user has one":              {seen{isTaken: true}, "already-booked", false},
		"too few":                       {seen{available: 2}, "sold-out", false},
		"enough":                        {seen{available: 3}, "", false},
	} {
		problem, repeated := at.seen.answer(&of)
		kind := ""
		if problem != nil {
			kind = problem.Type
		}
		if kind != at.kind || repeated != at.repeated {
			t.Error(name, kind, repeated)
		}
	}
}

func TestAMessageIsALineOfJSON(t *testing.T) {
	key, _ := web.ParseKey(digits)
	of := asked{key: key, event: 3, user: 71, quantity: 2}
	created := time.UnixMicro(7)
	message := of.message(9, created)
	wanted := `{"type":"booked","booking":"` + digits + `","event":3,"user":71,"quantity":2,"position":9}`
	if message.Key != 3 || string(message.Payload) != wanted || message.Created != created {
		t.Error(message.Key, string(message.Payload))
	}
}
