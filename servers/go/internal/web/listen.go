package web

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"stackmark/net-http/internal/engine"
)

// Limits of connections.
const (
	headBytesMax = 32 << 10
	// headReadMax is from the first byte of a request's head to its last.
	headReadMax = 10 * time.Second
	// idleMax is without a request. Longer than the longest think time of any workload.
	idleMax = 300 * time.Second
	// writeMax is from a request's head to the last byte of its answer.
	writeMax = engine.CallMax + bodyReadMax + 10*time.Second
	// DrainMax is for calls that are running when the server is asked to stop.
	DrainMax = 10 * time.Second
	// wanted is how many connections may be open, as far as there are files for them.
	wanted = 4_096
	// filesOfOurs are the runtime's, and those that nobody has thought of.
	filesOfOurs = 64
)

// connectionsMax is how many clients may be connected; one more is answered 503.
var connectionsMax = sync.OnceValue(func() int {
	var limit syscall.Rlimit
	// Go's own start raises the soft limit to the hard one.
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 2*wanted {
		return wanted
	}
	return max(1, min(wanted, int(limit.Cur)-filesOfOurs))
})

// Server makes a server of a handler: the limits are ours, and its own pages are made problem documents by Listener.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler,
		// net/http takes these from when a connection is made; see connection.Read for the first head.
		ReadHeaderTimeout: headReadMax,
		IdleTimeout:       idleMax,
		WriteTimeout:      writeMax,
		// net/http allows for 4 KiB more.
		MaxHeaderBytes:               headBytesMax - 4<<10,
		DisableGeneralOptionsHandler: true,
		// What clients do wrong is theirs to know.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// Listener takes connections, of which it counts those that are open.
type Listener struct {
	net.Listener
	lock sync.Mutex
	open map[*connection]struct{}
}

// NewListener wraps a listener.
func NewListener(listener net.Listener) *Listener {
	return &Listener{Listener: listener, open: map[*connection]struct{}{}}
}

// Accept takes the next connection, and turns away those that are too many.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		taken := &connection{Conn: accepted, listener: l}
		l.lock.Lock()
		full := len(l.open) >= connectionsMax()
		if !full {
			l.open[taken] = struct{}{}
		}
		l.lock.Unlock()
		if !full {
			return taken, nil
		}
		go turnAway(accepted)
	}
}

// CloseSilent closes connections that have never said anything: net/http's Shutdown waits five seconds for a first request.
func (l *Listener) CloseSilent() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for connection := range l.open {
		if !connection.heard {
			_ = connection.Conn.Close()
		}
	}
}

func turnAway(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(page(http.StatusServiceUnavailable, problemOf(engine.Shedding), "retry-after: 1\r\n"))
	_ = conn.Close()
}

// connection is a client's.
type connection struct {
	net.Conn
	listener *Listener
	// heard is written with the listener's lock.
	heard bool
	once  sync.Once
}

// Read begins the time of the first head with its first byte. net/http does so for all but the first, whose time would pass
// while a client that has connected says nothing yet.
func (c *connection) Read(into []byte) (int, error) {
	if c.heard {
		return c.Conn.Read(into)
	}
	_ = c.Conn.SetReadDeadline(time.Now().Add(idleMax))
	n, err := c.Conn.Read(into)
	if n > 0 {
		c.listener.lock.Lock()
		c.heard = true
		c.listener.lock.Unlock()
		_ = c.Conn.SetReadDeadline(time.Now().Add(headReadMax))
	}
	return n, err
}

// ownPage is what is behind the status line in each page that net/http writes to a request that no handler saw: a head that is
// malformed or too large, a transfer coding or a version that it does not know. No answer of ours has that type.
var ownPage = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// Write puts a problem document in the place of net/http's own pages, each of which is one write. There is no other way to have
// a say in them. All of them are 400 in the contract, which has none of the other statuses (431, 501, 505, and 417 for an
// expectation that is not known).
func (c *connection) Write(from []byte) (int, error) {
	if len(from) > len("HTTP/1.1 400") && (from[9] == '4' || from[9] == '5') && isOwnPage(from) {
		_, err := c.Conn.Write(page(http.StatusBadRequest, malformedRequest, ""))
		return len(from), err
	}
	return c.Conn.Write(from)
}

func isOwnPage(from []byte) bool {
	end := bytes.IndexByte(from, '\r')
	return end > 0 && (bytes.HasPrefix(from[end:], ownPage) || bytes.HasPrefix(from, []byte("HTTP/1.1 417 ")))
}

func (c *connection) Close() error {
	c.once.Do(func() {
		c.listener.lock.Lock()
		delete(c.listener.open, c)
		c.listener.lock.Unlock()
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http end its half first, so that a client reads the answer before it learns that nobody reads its
// request any more.
func (c *connection) CloseWrite() error {
	if half, known := c.Conn.(*net.TCPConn); known {
		return half.CloseWrite()
	}
	return nil
}

// page is a whole answer.
func page(status int, problem *Problem, headers string) []byte {
	body := problem.append(nil)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\ncontent-type: application/problem+json\r\n%sconnection: close\r\ncontent-length: ",
		status, http.StatusText(status), headers)
	return append(append(append([]byte(head), strconv.Itoa(len(body))...), "\r\n\r\n"...), body...)
}
