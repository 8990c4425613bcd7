// Net-http serves a workload of Stackmark over HTTP: docs/servers.md has what it is told, and when it ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"stackmark/net-http/internal/catalogue"
	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/mariadb"
	"stackmark/net-http/internal/postgres"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
	"stackmark/net-http/internal/tpcc"
	"stackmark/net-http/internal/web"
)

const version = "0.1.0"

func main() {
	stop := stopped()
	settings, err := settings.Read(settings.Environment)
	if err != nil {
		fail(2, err)
	}
	server, err := prepare(settings)
	if err != nil {
		fail(2, err)
	}
	if err := server.serve(stop); err != nil {
		fail(1, err)
	}
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "net-http:", err)
	os.Exit(status)
}

// workload is what a workload gives to the server.
type workload struct {
	names     func(on settings.Engine) []string
	questions []string
	scale     func(answers []int64) int64
	routes    func(on settings.Engine, answers []int64) []web.Route
}

var workloads = map[string]workload{
	"catalogue": {
		names:     func(settings.Engine) []string { return catalogue.Names },
		questions: catalogue.Questions,
		scale:     catalogue.Scale,
		routes:    func(settings.Engine, []int64) []web.Route { return catalogue.Routes() },
	},
	"tpcc": {
		names:     tpcc.Names,
		questions: tpcc.Questions,
		scale:     func(answers []int64) int64 { return answers[0] },
		routes:    tpcc.Routes,
	},
}

// server is all that was made ready.
type server struct {
	listening net.Listener
	service   *web.Service
	pool      *engine.Pool
}

// prepare opens everything, the address last: nobody can connect to a server that will not answer.
func prepare(settings *settings.Settings) (*server, error) {
	runtime.GOMAXPROCS(settings.Threads)
	collectLess()
	workload := workloads[settings.Workload]
	opener, answers, err := reach(settings, workload)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be used: %w", err)
	}
	log := logger()
	pool, err := engine.NewPool(opener, settings.Pool, log)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be used: %w", err)
	}
	fmt.Fprintf(os.Stderr, "net-http: %d connections in one pool for %d threads\n", settings.Pool, settings.Threads)
	scale := workload.scale(answers)
	service, err := web.New(workload.routes(settings.Database.Engine, answers), pool, &web.About{
		Name: "net-http", Version: version + " (net/http of " + runtime.Version() + ")",
		Contract: settings.Workload + "/1", Workload: settings.Workload,
		Scale: scale, Pool: settings.Pool, Workers: settings.Threads, PID: os.Getpid(),
		Limits: web.Limits(settings.Pool), Stack: opener.Stack(),
	}, log)
	if err != nil {
		return nil, err
	}
	listening, err := net.Listen(settings.Network(), settings.Listen)
	if err != nil {
		return nil, fmt.Errorf("could not listen: %w", err)
	}
	return &server{listening, service, pool}, nil
}

// serve answers until it is to stop, finishes the calls that are running, and closes the connections.
func (s *server) serve(stop <-chan struct{}) error {
	server, listener := web.Server(s.service), web.NewListener(s.listening)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", s.listening.Addr())
	select {
	case err := <-ended:
		return fmt.Errorf("could not go on listening: %w", err)
	case <-stop:
	}
	s.service.Stop()
	limited, cancel := context.WithTimeout(context.Background(), web.DrainMax)
	defer cancel()
	// Listening ends first, so that nobody new is silent.
	_ = s.listening.Close()
	listener.CloseSilent()
	if server.Shutdown(limited) != nil {
		// Those that are left are clients in the middle of a request, or in no hurry to read; a call has its connection still.
		_ = server.Close()
	}
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	if !s.pool.Close(time.Second) {
		return fmt.Errorf("calls were cut off %v after the server was asked to stop", web.DrainMax)
	}
	return nil
}

func reach(settings *settings.Settings, workload workload) (engine.Opener, []int64, error) {
	database := settings.Database
	texts, err := statements.Find(settings.Workload, string(database.Engine), workload.names(database.Engine))
	if err != nil {
		return nil, nil, err
	}
	if string(database.Engine) == "postgres" {
		return postgres.Reach(database, texts, moduleVersion("github.com/jackc/pgx/v5"), workload.questions)
	}
	return mariadb.Reach(database, texts, moduleVersion("github.com/go-sql-driver/mysql"), workload.questions)
}

// moduleVersion is that of a module which this program was built with.
func moduleVersion(path string) string {
	if info, known := debug.ReadBuildInfo(); known {
		for _, module := range info.Deps {
			if module.Path == path {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}

// collectLess lets garbage grow to four times of what lives, of which there is little, as long as all of it stays small.
// The runtime's own variables go first.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(96 << 20)
	}
}

// stopped is closed at SIGTERM, and when standard input ends: then nobody is left who would stop this server.
func stopped() <-chan struct{} {
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go func() {
		defer stop()
		var into [512]byte
		for {
			if _, err := os.Stdin.Read(into[:]); err != nil {
				return
			}
		}
	}()
	return signalled.Done()
}

// linesMax are passed on one by one.
const linesMax = 100

// logger writes lines to standard error until there are many; after that only when their number is a power of two, so that a
// broken database under load does not make a log of gigabytes.
func logger() func(line string) {
	var lines atomic.Uint64
	return func(line string) {
		number := lines.Add(1)
		if number <= linesMax {
			fmt.Fprintln(os.Stderr, "net-http:", line)
		} else if number&(number-1) == 0 {
			fmt.Fprintf(os.Stderr, "net-http: %s (line %d; most are left out by now)\n", line, number)
		}
	}
}
