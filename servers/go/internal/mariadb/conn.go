// Package mariadb is MariaDB through database/sql and go-sql-driver/mysql.
//
// A statement of a *sql.DB is prepared again on each connection that it happens to run on. Here each connection is held as a
// *sql.Conn with statements of its own, prepared once, and the pool is ours as it is for PostgreSQL.
package mariadb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"strconv"
	"time"

	"stackmark/net-http/internal/engine"
)

// background has no end, so that the driver watches nothing: what bounds a call is the deadline of its socket.
var background = context.Background()

// statement is prepared on the server, and knows which of the caller's parameters each question mark is.
type statement struct {
	prepared *sql.Stmt
	params   []int
	inOrder  bool
	name     string
}

// Conn is a connection with its statements.
type Conn struct {
	conn       *sql.Conn
	socket     net.Conn
	statements []statement
	kind       engine.Kind
	// begun while a transaction is, as far as we know.
	begun bool
	args  []any
	row   row
}

// Begin begins a transaction, of more than one statement only. One that only reads has its snapshot at repeatable read.
func (c *Conn) Begin(kind engine.Kind) error {
	c.kind = kind
	if kind.IsOne() {
		return nil
	}
	text := "start transaction"
	if kind == engine.Read {
		text = "start transaction read only"
	}
	if _, err := c.conn.ExecContext(background, text); err != nil {
		return c.fault(err, false)
	}
	c.begun = true
	return nil
}

// Commit commits.
func (c *Conn) Commit() error {
	if _, err := c.conn.ExecContext(background, "commit"); err != nil {
		return c.fault(err, true)
	}
	c.begun = false
	return nil
}

// Rollback undoes what was not committed. Where that fails nothing was applied either: it was never to be.
func (c *Conn) Rollback() error {
	if !c.begun {
		return nil
	}
	c.begun = false
	if _, err := c.conn.ExecContext(background, "rollback"); err != nil {
		return engine.Unreachable
	}
	return nil
}

// sent puts the caller's parameters into the order of the question marks, in the forms that the driver takes exactly.
func (c *Conn) sent(params []int, inOrder bool, args []any) []any {
	for at, arg := range args {
		if cents, known := arg.(engine.Cents); known {
			// The driver has no decimals; the server takes their text exactly.
			args[at] = decimal(cents)
		}
	}
	if inOrder {
		// What reads a change back takes the first of the change's own.
		return args[:len(params)]
	}
	c.args = c.args[:0]
	for _, param := range params {
		c.args = append(c.args, args[param])
	}
	return c.args
}

// Exec runs a statement and says how many rows it found to change, also those that it left as they were.
func (c *Conn) Exec(number int, args []any) (int64, error) {
	statement := &c.statements[number]
	result, err := statement.prepared.ExecContext(background, c.sent(statement.params, statement.inOrder, args)...)
	if err != nil {
		return 0, c.fault(err, c.kind == engine.OneWrite)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return 0, engine.Defective("go-sql-driver: %v", err)
	}
	return changed, nil
}

// Query gives every row of a statement to each.
func (c *Conn) Query(number int, args []any, each func(engine.Row)) error {
	statement := &c.statements[number]
	rows, err := statement.prepared.QueryContext(background, c.sent(statement.params, statement.inOrder, args)...)
	if err != nil {
		return c.fault(err, c.kind == engine.OneWrite)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return c.fault(err, false)
	}
	cells := c.row.of(len(columns))
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return engine.Defective("go-sql-driver: %v", err)
		}
		each(&c.row)
	}
	if err := rows.Err(); err != nil {
		return c.fault(err, c.kind == engine.OneWrite)
	}
	if c.row.wrong != "" {
		return engine.Defective("statement `%s`: %s", statement.name, c.row.wrong)
	}
	return nil
}

// IsAlive looks whether the server has closed the connection.
func (c *Conn) IsAlive() bool { return engine.IsAlive(c.socket) }

// SetDeadline is when waiting for the server ends.
func (c *Conn) SetDeadline(at time.Time) {
	// A connection that is closed says so when it is used.
	_ = c.socket.SetDeadline(at)
}

// Close ends the session for good: database/sql would keep a connection that is only given back.
func (c *Conn) Close() {
	_ = c.socket.SetDeadline(time.Now().Add(time.Second))
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = c.conn.Close()
	_ = c.socket.Close()
}

// decimal is an amount as the text of a decimal.
func decimal(cents engine.Cents) string {
	text := make([]byte, 0, 24)
	amount := uint64(cents)
	if cents < 0 {
		text = append(text, '-')
		amount = -amount
	}
	text = strconv.AppendUint(text, amount/100, 10)
	return string(append(text, '.', byte('0'+amount/10%10), byte('0'+amount%10)))
}
