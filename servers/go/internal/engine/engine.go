// Package engine is what workloads know of a database: statements by number, transactions, and what may go wrong.
// internal/postgres and internal/mariadb are the two that there are.
package engine

import (
	"time"
)

// Kind is what a transaction does, which decides how it begins.
type Kind int

// A call that is one statement is sent as one, without begin and commit around it.
const (
	OneRead Kind = iota
	OneWrite
	// Read sees one moment.
	Read
	Write
	// Steps is a call of several transactions, one after the other: each is one of the others, by Session.Transaction.
	Steps
)

// IsOne tells whether there is nothing around the one statement.
func (k Kind) IsOne() bool { return k == OneRead || k == OneWrite }

// Reads tells whether nothing is changed.
func (k Kind) Reads() bool { return k == OneRead || k == Read }

// Cents are an amount of money: a parameter for columns with two digits behind the point.
type Cents int64

// Row is the row at hand, good until the next one. A column that is not what it is taken for is an error of the query.
type Row interface {
	IsNull(column int) bool
	Int(column int) int64
	// Scaled is a decimal times ten to the power of digits: cents of two.
	Scaled(column, digits int) int64
	// Text is without the blanks that fill up a `char`.
	Text(column int) []byte
	// Unix is a time in seconds since 1970.
	Unix(column int) int64
}

// Conn is a connection with the statements of a workload prepared. Faults are all that it gives as errors.
type Conn interface {
	Begin(kind Kind) error
	Commit() error
	Rollback() error
	// Exec runs a statement by its number and says how many rows were changed, or found to be as they should be.
	Exec(statement int, args []any) (int64, error)
	// Query gives every row to each.
	Query(statement int, args []any, each func(row Row)) error
	// IsAlive tells whether the other side has closed the connection, as far as this one has heard, without asking it.
	IsAlive() bool
	// SetDeadline is when all that waits for the engine is given up, and the connection with it.
	SetDeadline(at time.Time)
	Close()
}

// Opener opens connections to one database.
type Opener interface {
	Open(deadline time.Time) (Conn, error)
	// Stack is what is in force, read back when the database was first reached.
	Stack() *Stack
}

// Stack is what is behind the server, as /about shows it.
type Stack struct {
	Engine         string      `json:"engine"`
	EngineVersion  string      `json:"engine_version"`
	Adapter        string      `json:"adapter"`
	AdapterVersion string      `json:"adapter_version"`
	Style          string      `json:"style"`
	Route          string      `json:"route"`
	Server         *string     `json:"server"`
	Isolation      string      `json:"isolation"`
	Durability     Durability  `json:"durability"`
	Settings       [][2]string `json:"settings"`
}

// Durability is what an acknowledged commit survives.
type Durability struct {
	Tier   string `json:"tier"`
	Detail string `json:"detail"`
}
