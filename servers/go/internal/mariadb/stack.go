package mariadb

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
)

// worthComparing are settings that may change a figure, in the order of reports.
var worthComparing = [...]string{
	"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_log_buffer_size", "innodb_flush_log_at_trx_commit",
	"innodb_flush_method", "innodb_doublewrite", "innodb_io_capacity", "innodb_lock_wait_timeout", "innodb_snapshot_isolation",
	"innodb_page_size", "max_connections", "thread_handling", "log_bin", "sync_binlog", "max_statement_time",
	"performance_schema", "sql_mode",
}

// stack asks a session of ours what is in force.
func stack(conn *sql.Conn, database *settings.Database, adapterVersion string) (*engine.Stack, error) {
	others := []string{"innodb_flush_log_at_timeout", "tx_isolation", "version"}
	rows, err := conn.QueryContext(background, "show session variables where variable_name in ('"+
		strings.Join(append(others, worthComparing[:]...), "', '")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[strings.ToLower(name)] = value
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var listed [][2]string
	for _, name := range worthComparing {
		if value, there := found[name]; there {
			listed = append(listed, [2]string{name, value})
		}
	}
	transport := "TCP"
	if database.Socket != "" {
		transport = "unix socket"
	}
	return &engine.Stack{
		Engine: "mariadb", EngineVersion: found["version"], Adapter: "go-sql-driver", AdapterVersion: adapterVersion,
		Style: "plain", Route: "direct",
		Isolation:  strings.ToLower(found["tx_isolation"]),
		Durability: durability(found),
		Settings:   append(listed, [2]string{"transport", transport}, [2]string{"protocol", "prepared, binary"}),
	}, nil
}

// durability is what an acknowledged commit survives. With a binary log recovery follows that, so one that is not flushed can
// lose a commit whatever InnoDB does.
func durability(found map[string]string) engine.Durability {
	// A value that is not there is one that we do not know, and no tier is claimed for it.
	atCommit, err := strconv.ParseUint(found["innodb_flush_log_at_trx_commit"], 10, 32)
	if err != nil {
		atCommit = 1<<32 - 1
	}
	doublewrite, method := strings.ToUpper(found["innodb_doublewrite"]), strings.ToUpper(found["innodb_flush_method"])
	log := strings.EqualFold(found["log_bin"], "ON") || found["log_bin"] == "1"
	sync, binary := number(found["sync_binlog"]), "log_bin=off"
	if log {
		binary = "sync_binlog=" + sync
	}
	later := number(found["innodb_flush_log_at_timeout"])
	tier, note := "delayed", ""
	switch {
	case method == "NOSYNC" || method == "LITTLESYNC":
		tier, note = "volatile", "files are not flushed; a power failure may corrupt the database"
	case doublewrite == "OFF" || doublewrite == "0" || doublewrite == "FALSE":
		tier = "volatile"
		note = "there is no doublewrite buffer; a power failure may tear a page beyond repair, unless the disk writes pages as a whole"
	case (atCommit == 1 || atCommit == 3) && log && sync != "1":
		note = "the binary log, which recovery follows, is not flushed at each commit; a power failure loses the last ones"
	case atCommit == 1 || atCommit == 3:
		tier, note = "durable", "every commit is flushed before it is acknowledged"
	case atCommit == 2:
		note = "the log is written at each commit and flushed every " + later + " s; a power failure loses what came between"
	case atCommit == 0:
		note = "the log is written and flushed every " + later + " s; a crash of the server alone loses what came between"
	default:
		tier, note = "volatile", "a value that this version does not know"
	}
	return engine.Durability{Tier: tier, Detail: fmt.Sprintf(
		"innodb_flush_log_at_trx_commit=%d, %s, innodb_doublewrite=%s, innodb_flush_method=%s: %s",
		atCommit, binary, doublewrite, method, note)}
}

// number is a whole number as it is written, and 0 where there is none.
func number(text string) string {
	if value, err := strconv.ParseUint(text, 10, 32); err == nil {
		return strconv.FormatUint(value, 10)
	}
	return "0"
}
