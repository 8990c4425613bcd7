// Package postgres is PostgreSQL through pgx, without database/sql: statements are prepared when a connection opens and run by
// their names, with parameters and columns in binary form.
package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stackmark/net-http/internal/engine"
)

// background has no end, so that pgx starts nothing that would watch it: what bounds a call is the deadline of its socket.
var background = context.Background()

// Statements that come behind the workload's. A transaction that writes takes the isolation of the session.
var control = [...]string{"begin isolation level repeatable read read only", "begin", "commit", "rollback"}

const (
	beginRead = iota
	beginWrite
	commit
	rollback
)

// Names of these as they are prepared; no statement of a workload has one of them.
var controlNames = [...]string{"control_begin_read", "control_begin", "control_commit", "control_rollback"}

// Conn is a connection with its statements.
type Conn struct {
	conn *pgx.Conn
	// names are the statements' own, by their numbers.
	names []string
	kind  engine.Kind
	// open while a transaction is, as far as we know.
	open bool
	row  row
}

func (c *Conn) control(which int) error {
	_, err := c.conn.Exec(background, controlNames[which])
	return err
}

// Begin begins a transaction, of more than one statement only.
func (c *Conn) Begin(kind engine.Kind) error {
	c.kind = kind
	if kind.IsOne() {
		return nil
	}
	which := beginWrite
	if kind == engine.Read {
		which = beginRead
	}
	if err := c.control(which); err != nil {
		return c.fault(err, false)
	}
	c.open = true
	return nil
}

// Commit commits. Whatever is answered, the transaction is over.
func (c *Conn) Commit() error {
	err := c.control(commit)
	if err != nil {
		return c.fault(err, true)
	}
	c.open = false
	return nil
}

// Rollback undoes what was not committed. Where that fails nothing was applied either: it was never to be.
func (c *Conn) Rollback() error {
	if !c.open {
		return nil
	}
	c.open = false
	if err := c.control(rollback); err != nil {
		return engine.Unreachable
	}
	return nil
}

// Exec runs a statement and says how many rows it changed.
func (c *Conn) Exec(statement int, args []any) (int64, error) {
	tag, err := c.conn.Exec(background, c.names[statement], args...)
	if err != nil {
		return 0, c.fault(err, c.kind == engine.OneWrite)
	}
	return tag.RowsAffected(), nil
}

// Query gives every row of a statement to each, as it lies in the connection's buffer.
func (c *Conn) Query(statement int, args []any, each func(engine.Row)) error {
	rows, err := c.conn.Query(background, c.names[statement], args...)
	if err != nil {
		return c.fault(err, c.kind == engine.OneWrite)
	}
	c.row.wrong = ""
	for rows.Next() {
		c.row.fields, c.row.values = rows.FieldDescriptions(), rows.RawValues()
		each(&c.row)
	}
	if err := rows.Err(); err != nil {
		return c.fault(err, c.kind == engine.OneWrite)
	}
	if c.row.wrong != "" {
		return engine.Defective("statement `%s`: %s", c.names[statement], c.row.wrong)
	}
	return nil
}

// IsAlive looks whether the server has closed the connection.
func (c *Conn) IsAlive() bool { return engine.IsAlive(c.conn.PgConn().Conn()) }

// SetDeadline is when waiting for the server ends.
func (c *Conn) SetDeadline(at time.Time) {
	// A connection that is closed says so when it is used.
	_ = c.conn.PgConn().Conn().SetDeadline(at)
}

// Close ends the session with a farewell, which nobody answers.
func (c *Conn) Close() {
	limited, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	_ = c.conn.Close(limited)
}
