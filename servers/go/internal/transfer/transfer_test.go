package transfer

import (
	"net/http"
	"strings"
	"testing"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

func stores(t *testing.T) *Stores {
	t.Helper()
	made, err := NewStores([][]int64{{1, 16, 2}, {17, 24, 1}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestAnAccountLiesInTheStoreOfItsRange(t *testing.T) {
	s := stores(t)
	for account, store := range map[int64]int{1: 0, 16: 0, 17: 1, 24: 1, 25: 0} {
		if found := s.of(account); found != store {
			t.Errorf("%d: %d", account, found)
		}
	}
	if s.Scale() != 3 || s.last() != 24 {
		t.Error(s)
	}
}

func TestStoresInAnotherOrderAreRefused(t *testing.T) {
	for _, answers := range [][][]int64{{{17, 24, 1}, {1, 16, 2}}, {{1, 16, 2}, {18, 24, 1}}, {{1, 0, 1}}} {
		if _, err := NewStores(answers); err == nil || !strings.Contains(err.Error(), "shard-") {
			t.Error(answers, err)
		}
	}
}

func TestTheRelayIsSetUpByTheEnvironment(t *testing.T) {
	read := func(given map[string]string) (RelaySettings, error) {
		return ReadRelay(func(name string) (string, bool) {
			value, there := given[name]
			return value, there
		})
	}
	if found, err := read(nil); err != nil || found != (RelaySettings{Batch: 64, Connections: 1}) {
		t.Error(found, err)
	}
	found, err := read(map[string]string{"STACKMARK_BATCH": "7", "STACKMARK_RELAY_CONNECTIONS": "2"})
	if err != nil || found != (RelaySettings{Batch: 7, Connections: 2}) {
		t.Error(found, err)
	}
	for name, wrong := range map[string][]string{
		"STACKMARK_BATCH":             {"", "0", "65", "x"},
		"STACKMARK_RELAY_CONNECTIONS": {"", "0", "-1", "x"},
	} {
		for _, value := range wrong {
			if _, err := read(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) {
				t.Error(name, value, err)
			}
		}
	}
}

const digits = "8123456789abcdef0000000700000013"

func TestATransferIsAskedOfTheStoreOfItsSource(t *testing.T) {
	s := stores(t)
	header := http.Header{"Idempotency-Key": {digits}}
	ask := func(body string, header http.Header) (web.Call, *web.Problem) {
		return s.decodeTransfer(&web.Request{Body: []byte(body), Header: header})
	}
	for body, store := range map[string]int{
		`{"source":1,"target":2,"amount":3}`: 0, `{"source":17,"target":2,"amount":10000000000}`: 1, `{"amount":1,"target":17,"source":2}`: 0,
	} {
		if call, problem := ask(body, header); problem != nil || call.Store != store || call.Kind != engine.Write {
			t.Error(body, call, problem)
		}
	}
	for body, wanted := range map[string]string{
		`{"source":1,"target":2}`:                                  "invalid",
		`{"source":1,"target":2,"amount":0}`:                       "invalid",
		`{"source":1,"target":2,"amount":-1}`:                      "invalid",
		`{"source":1,"target":2,"amount":10000000001}`:             "invalid",
		`{"source":1,"target":1,"amount":1}`:                       "invalid",
		`{"source":0,"target":1,"amount":1}`:                       "unknown-id",
		`{"source":1,"target":25,"amount":1}`:                      "unknown-id",
		`{"source":1,"target":2,"amount":1`:                        "malformed",
		`{"source":1,"target":2,"amount":1.5}`:                     "invalid",
		`{"source":1,"target":2,"amount":1,"more":1}`:              "invalid",
		`{"source":1,"target":2,"amount":99999999999999999999999}`: "invalid",
	} {
		if _, problem := ask(body, header); problem == nil || problem.Type != wanted {
			t.Error(body, problem)
		}
	}
	for _, header := range []http.Header{{}, {"Idempotency-Key": {"x"}}, {"Idempotency-Key": {digits, digits}}} {
		if _, problem := ask(`{"source":1,"target":2,"amount":3}`, header); problem == nil || problem.Type != "invalid" {
			t.Error(header, problem)
		}
	}
}

func TestWhatIsMissingOfManyRowsIsTheLastOneAgain(t *testing.T) {
	args := many([]message{{created: 1}, {created: 2}}, func(of *message) []any { return []any{of.created, -of.created} })
	if len(args) != 2*batchMax || args[0] != int64(1) || args[1] != int64(-1) {
		t.Fatal(args)
	}
	for at := 2; at < len(args); at += 2 {
		if args[at] != int64(2) || args[at+1] != int64(-2) {
			t.Fatal(at, args[at:])
		}
	}
}
