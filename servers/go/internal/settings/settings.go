// Package settings reads what the server is told, which is all in its environment.
package settings

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Most that can be asked for.
const (
	poolMax    = 4_096
	threadsMax = 1_024
)

// Settings are those of the contract's environment.
type Settings struct {
	Workload string
	// Databases are one for each store, of which there is more than one where the workload's data is split.
	Databases []*Database
	// Style is how transactions are expressed: `plain`; `saga`, which leaves to a relay what is to be done in another store; or
	// `outbox`, which leaves messages to one.
	Style string
	// Pool is how many connections there are to the engine, in all; to each where there are several.
	Pool int
	// Threads run Go code at the same time: GOMAXPROCS.
	Threads int
	Listen  string
}

// workloads are those that are served.
var workloads = []string{"booking", "catalogue", "tpcc", "transfer"}

// hows has the driver for each engine, as `how` in the manifest.
var hows = map[Engine]string{Postgres: "pgx", MariaDB: "go-sql-driver"}

// Read reads the environment.
func Read(get func(name string) (string, bool)) (*Settings, error) {
	var missing error
	given := func(name string) string {
		value, there := get(name)
		if (!there || value == "") && missing == nil {
			missing = fmt.Errorf("the variable %s is missing", name)
		}
		return value
	}
	settings := &Settings{Style: "plain", Workload: given("STACKMARK_WORKLOAD"), Listen: given("STACKMARK_LISTEN")}
	how, url, pool, threads := given("STACKMARK_ADAPTER"), given("STACKMARK_DB"), given("STACKMARK_POOL"), given("STACKMARK_THREADS")
	if missing != nil {
		return nil, missing
	}
	if !slices.Contains(workloads, settings.Workload) {
		return nil, fmt.Errorf("STACKMARK_WORKLOAD is `%s`; %s are served", settings.Workload, strings.Join(workloads, ", "))
	}
	var err error
	if settings.Databases, err = databases(get, url); err != nil {
		return nil, err
	}
	if err = settings.suits(how); err != nil {
		return nil, err
	}
	if settings.Pool, err = count("STACKMARK_POOL", pool, poolMax); err != nil {
		return nil, err
	}
	if settings.Threads, err = count("STACKMARK_THREADS", threads, threadsMax); err != nil {
		return nil, err
	}
	return settings, address(settings.Listen)
}

// databases are those of all stores, the first of which is at url.
func databases(get func(name string) (string, bool), url string) ([]*Database, error) {
	var all []*Database
	shared, hasShared := get("STACKMARK_DB_PASSWORD")
	for name, there := "STACKMARK_DB", true; there; {
		database, err := ParseDatabase(url)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(all) > 0 && database.Engine != all[0].Engine {
			return nil, fmt.Errorf("%s is on %s, and STACKMARK_DB on %s", name, database.Engine, all[0].Engine)
		}
		if password, own := get(name + "_PASSWORD"); own {
			database.Password = password
		} else if hasShared {
			database.Password = shared
		}
		all = append(all, database)
		name = "STACKMARK_DB_" + strconv.Itoa(len(all))
		url, there = get(name)
		there = there && url != ""
	}
	return all, nil
}

// suits tells whether the workload is served so, on as many databases of that engine.
func (s *Settings) suits(how string) error {
	on := s.Databases[0].Engine
	wanted := hows[on]
	if s.Workload == "booking" && how == wanted+"/outbox" {
		s.Style, how = "outbox", wanted
	}
	switch {
	case s.Workload == "transfer" && on == Postgres && how == wanted+"/saga":
		s.Style = "saga"
		return nil
	case (s.Workload == "transfer" || s.Workload == "booking") && on != Postgres:
		return fmt.Errorf("STACKMARK_DB is on %s; %s is served on %s", on, s.Workload, Postgres)
	case how != wanted:
		return fmt.Errorf("STACKMARK_ADAPTER is `%s`; a database on %s is served by %s", how, on, wanted)
	case len(s.Databases) > 1:
		return fmt.Errorf("STACKMARK_DB_1 is set; %s by `%s` is served from one database", s.Workload, how)
	}
	return nil
}

// Environment is where Read reads from, but in tests.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }

func count(name, text string, most int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > most {
		return 0, fmt.Errorf("%s is `%s`; it is a number of 1 to %d", name, text, most)
	}
	return number, nil
}

// A name would be looked up, and an empty host would listen on every address: neither is asked for in the contract.
// Network is that of Listen: with "tcp", Go would listen at all addresses of IPv6 too where those of IPv4 are asked for.
func (s *Settings) Network() string {
	if host, _, err := net.SplitHostPort(s.Listen); err == nil && net.ParseIP(host).To4() == nil {
		return "tcp6"
	}
	return "tcp4"
}

func address(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err == nil && net.ParseIP(host) != nil {
		if _, err = strconv.ParseUint(port, 10, 16); err == nil {
			return nil
		}
	}
	return fmt.Errorf("STACKMARK_LISTEN is `%s`; it is an address and a port, such as 127.0.0.1:0", text)
}
