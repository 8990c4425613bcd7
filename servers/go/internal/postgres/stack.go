package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
)

// worthComparing are settings that may change a figure, in the order of reports.
var worthComparing = [...]string{
	"shared_buffers", "max_connections", "max_prepared_transactions", "wal_level", "wal_sync_method", "wal_compression",
	"max_wal_size", "checkpoint_timeout", "commit_delay", "autovacuum", "jit", "effective_io_concurrency",
	"max_parallel_workers_per_gather", "plan_cache_mode", "work_mem", "huge_pages", "track_io_timing", "fsync",
	"synchronous_commit", "full_page_writes", "synchronous_standby_names",
}

// itself is what a server calls itself, and inEffect the isolation in effect, as SQL: the same in all servers.
const (
	itself = `current_setting('server_version')
		|| coalesce(', ' || substring(version() from '^CockroachDB [^ ]* [^ ]*'), '')
		|| coalesce((select ', Citus ' || extversion from pg_extension where extname = 'citus'), '')`
	inEffect = `coalesce(current_setting('yb_effective_transaction_isolation_level', true), current_setting('transaction_isolation'))`
)

// stack asks a session of ours what is in force.
func stack(conn *pgx.Conn, database *settings.Database, adapterVersion string) (*engine.Stack, error) {
	// `current_setting` gives units as people write them; what this version does not have is left out.
	question := "select name, current_setting(name) from unnest(array['" + strings.Join(worthComparing[:], "', '") + "']) as name " +
		"where current_setting(name, true) is not null"
	rows, err := conn.Query(background, question)
	if err != nil {
		return nil, err
	}
	listed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (pair [2]string, err error) {
		return pair, row.Scan(&pair[0], &pair[1])
	})
	if err != nil {
		return nil, err
	}
	var version, isolation, timeout string
	question = `select ` + itself + `, ` + inEffect + `,
		(select setting from pg_settings where name = 'statement_timeout')`
	if err := conn.QueryRow(background, question).Scan(&version, &isolation, &timeout); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, pair := range listed {
		found[pair[0]] = pair[1]
	}
	transport := "tcp"
	if database.Socket != "" {
		transport = "unix"
	}
	return &engine.Stack{
		Engine: "postgres", EngineVersion: version, Adapter: "pgx", AdapterVersion: adapterVersion, Style: "plain", Route: "direct",
		Isolation:  isolation + "; repeatable read where only read",
		Durability: durability(found),
		Settings: append(listed, [2]string{"protocol", "extended, prepared, binary"}, [2]string{"transport", transport},
			[2]string{"tls", "off"}, [2]string{"statement_timeout_ms", timeout}),
	}, nil
}

// durability is what an acknowledged commit survives. full_page_writes = off loses no commit by itself, but a power failure
// in the middle of a page may leave one that no log repairs.
func durability(found map[string]string) engine.Durability {
	fsync, synchronous, pages := found["fsync"], found["synchronous_commit"], found["full_page_writes"]
	tier, note := "volatile", "settings that this version does not know"
	switch {
	case fsync == "off":
		note = "nothing is flushed; a power failure may corrupt the database"
	case pages == "off":
		note = "a power failure may leave a torn page that the log cannot repair"
	case synchronous == "off":
		tier, note = "delayed", "the log is flushed a moment later; a crash loses the last commits, and no more"
	case pages == "on" && (synchronous == "on" || synchronous == "local" || strings.HasPrefix(synchronous, "remote_")):
		tier, note = "durable", "every commit is flushed before it is acknowledged"
	}
	return engine.Durability{Tier: tier, Detail: fmt.Sprintf(
		"fsync=%s, synchronous_commit=%s, full_page_writes=%s, wal_sync_method=%s: %s",
		fsync, synchronous, pages, found["wal_sync_method"], note)}
}
