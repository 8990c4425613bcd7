// Package settings reads what the server is told, which is all in its environment.
package settings

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// Most that can be asked for.
const (
	poolMax    = 4_096
	threadsMax = 1_024
)

// Settings are those of the contract's environment.
type Settings struct {
	Workload string
	Database *Database
	// Pool is how many connections there are to the engine, in all.
	Pool int
	// Threads run Go code at the same time: GOMAXPROCS.
	Threads int
	Listen  string
}

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
	settings := &Settings{Workload: given("STACKMARK_WORKLOAD"), Listen: given("STACKMARK_LISTEN")}
	how, url, pool, threads := given("STACKMARK_HOW"), given("STACKMARK_DB"), given("STACKMARK_POOL"), given("STACKMARK_THREADS")
	if missing != nil {
		return nil, missing
	}
	if settings.Workload != "catalogue" && settings.Workload != "tpcc" {
		return nil, fmt.Errorf("STACKMARK_WORKLOAD is `%s`; catalogue and tpcc are served", settings.Workload)
	}
	var err error
	if settings.Database, err = ParseDatabase(url); err != nil {
		return nil, fmt.Errorf("STACKMARK_DB: %w", err)
	}
	if wanted := hows[settings.Database.Engine]; how != wanted {
		return nil, fmt.Errorf("STACKMARK_HOW is `%s`; a database on %s is served by %s", how, settings.Database.Engine, wanted)
	}
	if password, there := get("STACKMARK_DB_PASSWORD"); there {
		settings.Database.Password = password
	}
	if settings.Pool, err = count("STACKMARK_POOL", pool, poolMax); err != nil {
		return nil, err
	}
	if settings.Threads, err = count("STACKMARK_THREADS", threads, threadsMax); err != nil {
		return nil, err
	}
	return settings, address(settings.Listen)
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
