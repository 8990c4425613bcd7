package web

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"stackmark/net-http/internal/engine"
)

// noEngine has connections that nothing is asked.
type noEngine struct{}

func (noEngine) Stack() *engine.Stack                     { return &engine.Stack{Engine: "none"} }
func (noEngine) Open(time.Time) (engine.Conn, error)      { return noEngine{}, nil }
func (noEngine) Begin(engine.Kind) error                  { return nil }
func (noEngine) Commit() error                            { return nil }
func (noEngine) Rollback() error                          { return nil }
func (noEngine) Exec(int, []any) (int64, error)           { return 1, nil }
func (noEngine) Query(int, []any, func(engine.Row)) error { return nil }
func (noEngine) IsAlive() bool                            { return true }
func (noEngine) SetDeadline(time.Time)                    {}
func (noEngine) Close()                                   {}

// serve runs a server of two routes: one gives its body back, the other meets what its id says. It gives the address.
func serve(t *testing.T) string {
	t.Helper()
	pool, err := engine.NewPool(noEngine{}, 1, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	echo := func(r *Request) (Call, *Problem) {
		return Call{Kind: engine.OneWrite, Run: func(s *engine.Session, a *Answer) (bool, error) {
			_, err := s.Exec(0)
			a.Status, a.Version, a.Body = http.StatusCreated, 7, append(a.Body, r.Body...)
			return true, err
		}}, nil
	}
	fail := func(r *Request) (Call, *Problem) {
		return Call{Kind: engine.Write, Run: func(_ *engine.Session, a *Answer) (bool, error) {
			switch r.ID {
			case "declined":
				return a.Decline(Declined(412, "stale-version", "it has another version"))
			case "deadlock":
				return false, engine.Deadlock
			case "gone":
				return false, engine.Unreachable
			case "defect":
				return false, engine.Defective("the password is hush")
			}
			a.Status = http.StatusNoContent
			return true, nil
		}}, nil
	}
	service, err := New([]Route{{"POST", "/echo", echo}, {"GET", "/fail/{id}/now", fail}}, []*engine.Pool{pool}, &About{Workload: "w"}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Server(service)
	go func() { _ = server.Serve(NewListener(listening)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listening.Addr().String()
}

// ask sends bytes and reads one answer.
func ask(t *testing.T, address, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.40q: %v", request, err)
	}
	body, _ := io.ReadAll(answer.Body)
	return answer, string(body)
}

func TestEveryRefusalIsAProblemDocument(t *testing.T) {
	address := serve(t)
	post := "POST /echo HTTP/1.1\nhost: a\n"
	for request, wanted := range map[string]string{
		"GET /nothing HTTP/1.1\nhost: a\n\n":       "404 unknown-path",
		"GET /fail//now HTTP/1.1\nhost: a\n\n":     "404 unknown-path",
		"GET /fail/a/b/now HTTP/1.1\nhost: a\n\n":  "404 unknown-path",
		"GET /echo HTTP/1.1\nhost: a\n\n":          "405 method-not-allowed",
		"GET /echo HTTP/1.1\n\n":                   "400 malformed",
		"GET /echo HTTP/1.1\nhost: a\nhost: b\n\n": "400 malformed",
		"nonsense\n\n":                    "400 malformed",
		"GET /echo HTTP/3.0\nhost: a\n\n": "400 malformed",
		"GET /echo HTTP/1.1\nhost: a\nx: " + strings.Repeat("y", 40_000) + "\n\n":  "400 malformed",
		post + "transfer-encoding: gzip\n\n":                                       "400 malformed",
		post + "expect: tea\ncontent-length: 1\n\n1":                               "400 malformed",
		post + "content-length: 1\n\n1":                                            "415 unsupported-type",
		post + "content-type: text/plain\ncontent-length: 1\n\n1":                  "415 unsupported-type",
		post + "content-type: application/json\ncontent-length: 70000\n\n":         "413 too-large",
		post + "content-type: application/json\ntransfer-encoding: chunked\n\nx\n": "400 malformed",
		"GET /fail/declined/now HTTP/1.1\nhost: a\n\n":                             "412 stale-version",
		"GET /fail/deadlock/now HTTP/1.1\nhost: a\n\n":                             "409 conflict",
		"GET /fail/gone/now HTTP/1.1\nhost: a\n\n":                                 "503 refused",
		"GET /fail/defect/now HTTP/1.1\nhost: a\n\n":                               "500 defect",
	} {
		answer, body := ask(t, address, request)
		var problem struct {
			Type   string
			Status int
			Title  string
		}
		err := json.Unmarshal([]byte(body), &problem)
		status, kind, _ := strings.Cut(wanted, " ")
		if err != nil || problem.Type != "urn:stackmark:problem:"+kind || !strings.HasPrefix(answer.Status, status) ||
			problem.Status != answer.StatusCode || answer.Header.Get("content-type") != "application/problem+json" {
			t.Errorf("%.60q: %s %v %s", request, answer.Status, answer.Header, body)
		}
		if strings.Contains(body, "hush") {
			t.Error("the answer tells a secret")
		}
		if (problem.Status == 503) != (answer.Header.Get("retry-after") != "") {
			t.Error("retry-after belongs to 503")
		}
	}
}

func TestAnAnswerSaysWhatItTook(t *testing.T) {
	address := serve(t)
	answer, body := ask(t, address, "POST /echo HTTP/1.1\nhost: a\ncontent-type: application/json ; charset=\"UTF-8\"\ncontent-length: 2\n\n{}")
	if answer.StatusCode != 201 || body != "{}" || answer.Header.Get("etag") != `"7"` ||
		answer.Header.Get("stackmark-work") != "attempts=1, statements=1, rows=1, commits=1" {
		t.Error(answer.Status, answer.Header, body)
	}
	if timing := answer.Header.Get("server-timing"); !strings.HasPrefix(timing, "queue;dur=0, pool;dur=") || !strings.Contains(timing, ", total;dur=") {
		t.Error(timing)
	}
	if answer, body := ask(t, address, "GET /fail/nothing/now HTTP/1.1\nhost: a\n\n"); answer.StatusCode != 204 || body != "" ||
		answer.Header.Get("content-type") != "" {
		t.Error(answer.Status, answer.Header, body)
	}
	if answer, _ := ask(t, address, "DELETE /echo HTTP/1.1\nhost: a\n\n"); answer.Header.Get("allow") != "POST" {
		t.Error(answer.Header)
	}
}

func TestContentTypes(t *testing.T) {
	for text, wanted := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, "application/json;charset=\"UTF-8\"": true, "application/json; x=y": true,
		"": false, "text/plain": false, "application/json; charset=iso-8859-1": false, "application/jsonx": false,
	} {
		if isJSON([]string{text}) != wanted {
			t.Error(text)
		}
	}
	if isJSON(nil) || isJSON([]string{"application/json", "application/json"}) {
		t.Error("it is said once")
	}
}

func TestMillisecondsAreExact(t *testing.T) {
	for span, wanted := range map[time.Duration]string{1: "0.000001", 999_999: "0.999999", 12_345_678_901: "12345.678901", -1: "0.000000"} {
		if found := string(appendMillis(nil, span)); found != wanted {
			t.Error(span, found)
		}
	}
}
