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

	"stackmark/net-http/internal/booking"
	"stackmark/net-http/internal/catalogue"
	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/mariadb"
	"stackmark/net-http/internal/outbox"
	"stackmark/net-http/internal/postgres"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
	"stackmark/net-http/internal/tpcc"
	"stackmark/net-http/internal/transfer"
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
	// ready makes the calls and the scale of what each database has answered.
	ready func(settings *settings.Settings, answers [][]int64) (*ready, error)
	// relayNames are the statements of what calls leave to be done later, if they do.
	relayNames []string
}

// opening opens a pool of so many connections to each database.
type opening func(connections int) ([]*engine.Pool, error)

type ready struct {
	routes []web.Route
	scale  int64
	// relay does what calls leave, over pools of connections that it opens; nothing where they leave nothing.
	relay func(open opening, log func(line string)) (func(stop context.Context), error)
}

var workloads = map[string]workload{
	"booking": {
		names:      func(settings.Engine) []string { return booking.Names },
		questions:  booking.Questions,
		relayNames: booking.RelayNames,
		ready: func(settings *settings.Settings, answers [][]int64) (*ready, error) {
			announces, events := settings.Style == "outbox", answers[0][0]
			made := &ready{routes: booking.NewOffice(events, announces).Routes(), scale: events}
			if announces {
				made.relay = relayBookings
			}
			return made, nil
		},
	},
	"catalogue": {
		names:     func(settings.Engine) []string { return catalogue.Names },
		questions: catalogue.Questions,
		ready: func(_ *settings.Settings, answers [][]int64) (*ready, error) {
			return &ready{routes: catalogue.Routes(), scale: catalogue.Scale(answers[0])}, nil
		},
	},
	"tpcc": {
		names:     tpcc.Names,
		questions: tpcc.Questions,
		ready: func(settings *settings.Settings, answers [][]int64) (*ready, error) {
			return &ready{routes: tpcc.Routes(settings.Databases[0].Engine, answers[0]), scale: answers[0][0]}, nil
		},
	},
	"transfer": {
		names:      func(settings.Engine) []string { return transfer.Names },
		questions:  transfer.Questions,
		relayNames: transfer.RelayNames,
		ready: func(settings *settings.Settings, answers [][]int64) (*ready, error) {
			stores, err := transfer.NewStores(answers)
			if err != nil {
				return nil, err
			}
			made := &ready{routes: stores.Routes(), scale: stores.Scale()}
			if settings.Style == "saga" && len(answers) > 1 {
				made.relay = func(open opening, log func(line string)) (func(stop context.Context), error) {
					return relayTransfers(stores, open, log)
				}
			}
			return made, nil
		},
	},
}

// relayTransfers brings what transfers leave in the outbox of a store to the others.
func relayTransfers(stores *transfer.Stores, open opening, log func(line string)) (func(stop context.Context), error) {
	of, err := transfer.ReadRelay(settings.Environment)
	if err != nil {
		return nil, err
	}
	of.Connections = min(of.Connections, stores.Directions())
	pools, err := open(of.Connections)
	if err != nil {
		return nil, err
	}
	return transfer.NewRelay(stores, pools, of, log).Run, nil
}

// relayBookings publishes what bookings leave in the outbox.
func relayBookings(open opening, log func(line string)) (func(stop context.Context), error) {
	settings, err := outbox.Read(settings.Environment)
	if err != nil {
		return nil, err
	}
	sink, err := outbox.Open(settings)
	if err != nil {
		return nil, err
	}
	pools, err := open(1)
	if err != nil {
		return nil, err
	}
	return booking.NewRelay(pools[0], settings, sink, log).Run, nil
}

// server is all that was made ready.
type server struct {
	listening net.Listener
	service   *web.Service
	pools     []*engine.Pool
	// relay runs until it is to stop, where there is one.
	relay func(stop context.Context)
}

// prepare opens everything, the address last: nobody can connect to a server that will not answer.
func prepare(settings *settings.Settings) (*server, error) {
	runtime.GOMAXPROCS(settings.Threads)
	collectLess()
	workload := workloads[settings.Workload]
	on := settings.Databases[0].Engine
	openers, answers, err := reach(settings, workload.names(on), workload.questions)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be used: %w", err)
	}
	ready, err := workload.ready(settings, answers)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be used: %w", err)
	}
	log := logger()
	server := &server{}
	if server.pools, err = open(openers, settings.Pool, log); err != nil {
		return nil, err
	}
	if ready.relay != nil {
		own, _, err := reach(settings, workload.relayNames, nil)
		if err != nil {
			return nil, fmt.Errorf("the database cannot be used: %w", err)
		}
		connect := func(connections int) ([]*engine.Pool, error) { return open(own, connections, log) }
		if server.relay, err = ready.relay(connect, log); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "net-http: %d connections in a pool for each of %d databases, for %d threads\n", settings.Pool, len(openers), settings.Threads)
	server.service, err = web.New(ready.routes, server.pools, &web.About{
		Name: "net-http", Version: version + " (net/http of " + runtime.Version() + ")",
		Contract: settings.Workload + "/1", Workload: settings.Workload,
		Scale: ready.scale, Pool: settings.Pool, Workers: settings.Threads, PID: os.Getpid(),
		Limits: web.Limits(settings.Pool), Stack: stack(openers, settings.Style),
	}, log)
	if err != nil {
		return nil, err
	}
	server.listening, err = net.Listen(settings.Network(), settings.Listen)
	if err != nil {
		return nil, fmt.Errorf("could not listen: %w", err)
	}
	return server, nil
}

// stack is that of the first database, with the number of them where there are several.
func stack(openers []engine.Opener, style string) *engine.Stack {
	of := *openers[0].Stack()
	of.Style = style
	if len(openers) > 1 {
		of.Settings = append([][2]string{{"stores", fmt.Sprint(len(openers))}}, of.Settings...)
	}
	return &of
}

func open(openers []engine.Opener, size int, log func(line string)) ([]*engine.Pool, error) {
	pools := make([]*engine.Pool, len(openers))
	for at, opener := range openers {
		var err error
		if pools[at], err = engine.NewPool(opener, size, log); err != nil {
			return nil, fmt.Errorf("the database cannot be used: %w", err)
		}
	}
	return pools, nil
}

// serve answers until it is to stop, finishes the calls that are running, and closes the connections.
func (s *server) serve(stop <-chan struct{}) error {
	server, listener := web.Server(s.service), web.NewListener(s.listening)
	if s.relay != nil {
		relaying, stopRelay := context.WithCancel(context.Background())
		relayed := make(chan struct{})
		go func() {
			defer close(relayed)
			s.relay(relaying)
		}()
		// It ends with the batch that it is at, behind the last call.
		defer func() {
			stopRelay()
			select {
			case <-relayed:
			case <-time.After(web.DrainMax):
			}
		}()
	}
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
	for _, pool := range s.pools {
		if !pool.Close(time.Second) {
			return fmt.Errorf("calls were cut off, which had run for %v", pool.Busy())
		}
	}
	return nil
}

// reach finds all databases, and asks each of them the questions.
func reach(settings *settings.Settings, names, questions []string) ([]engine.Opener, [][]int64, error) {
	on := settings.Databases[0].Engine
	texts, err := statements.Find(settings.Workload, string(on), names)
	if err != nil {
		return nil, nil, err
	}
	openers, answers := make([]engine.Opener, len(settings.Databases)), make([][]int64, len(settings.Databases))
	for at, database := range settings.Databases {
		if string(on) == "postgres" {
			openers[at], answers[at], err = postgres.Reach(database, texts, moduleVersion("github.com/jackc/pgx/v5"), questions)
		} else {
			openers[at], answers[at], err = mariadb.Reach(database, texts, moduleVersion("github.com/go-sql-driver/mysql"), questions)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return openers, answers, nil
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
