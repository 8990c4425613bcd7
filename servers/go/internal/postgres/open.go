package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
)

// connectMax is how long a server may take to let somebody in.
const connectMax = 10 * time.Second

// versionMin is the oldest server that is spoken to.
const versionMin = 130_000

// Opener opens connections to one database.
type Opener struct {
	config     *pgx.ConnConfig
	database   *settings.Database
	statements []statements.Statement
	names      []string
	stack      *engine.Stack
}

// Reach connects once, reads back what is in force, and asks the data questions that have a number as their answer.
func Reach(database *settings.Database, texts []statements.Statement, version string, questions []string) (*Opener, []int64, error) {
	opener, err := newOpener(database, texts)
	if err != nil {
		return nil, nil, err
	}
	conn, err := opener.Open(time.Now().Add(connectMax))
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	pg := conn.(*Conn).conn
	if opener.stack, err = stack(pg, database, version); err != nil {
		return nil, nil, openError(database.Place(), err)
	}
	answers := make([]int64, len(questions))
	for at, question := range questions {
		if err := pg.QueryRow(background, question).Scan(&answers[at]); err != nil {
			return nil, nil, openError(database.Place(), err)
		}
	}
	return opener, answers, nil
}

func newOpener(database *settings.Database, texts []statements.Statement) (*Opener, error) {
	// pgx makes configurations by parsing only. All that the environment or files could say is said here.
	config, err := pgx.ParseConfig("host=127.0.0.1 port=5432 user=nobody dbname=none password=none sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("pgx: %w", err)
	}
	config.Host, config.Port = database.Host, uint16(database.Port)
	if database.Socket != "" {
		config.Host = database.Socket
	}
	config.User, config.Password, config.Database = database.User, database.Password, database.Name
	config.TLSConfig, config.Fallbacks, config.ValidateConnect = nil, nil, nil
	config.RuntimeParams = map[string]string{"application_name": "stackmark", "client_encoding": "UTF8"}
	// Every statement is prepared by us, by its name: pgx shall not keep others.
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	names := make([]string, len(texts))
	for at, statement := range texts {
		names[at] = statement.Name
	}
	return &Opener{config: config, database: database, statements: texts, names: names}, nil
}

// Stack is what was in force when the server was reached.
func (o *Opener) Stack() *engine.Stack { return o.stack }

// Open connects, makes the session's settings and prepares all statements.
func (o *Opener) Open(deadline time.Time) (engine.Conn, error) {
	if most := time.Now().Add(connectMax); deadline.After(most) {
		deadline = most
	}
	limited, cancel := context.WithDeadline(background, deadline)
	defer cancel()
	conn, err := pgx.ConnectConfig(limited, o.config)
	if err != nil {
		return nil, openError(o.database.Place(), err)
	}
	if err := o.setSession(limited, conn); err != nil {
		_ = conn.Close(limited)
		return nil, err
	}
	return &Conn{conn: conn, names: o.names}, nil
}

func (o *Opener) setSession(limited context.Context, conn *pgx.Conn) error {
	// Nothing may depend on the defaults of the server, the database or the role.
	text := fmt.Sprintf("set statement_timeout = %d; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; "+
		"set time zone 'UTC'; set session characteristics as transaction isolation level %s, read write, not deferrable; "+
		"select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'; "+
		`select set_config('search_path', '"$user", public', false) `+
		"where coalesce(current_schema(), 'pg_catalog') in ('pg_catalog', 'information_schema')",
		o.database.StatementTimeout.Milliseconds(), o.database.Isolation)
	if _, err := conn.Exec(limited, text, pgx.QueryExecModeSimpleProtocol); err != nil {
		return openError(o.database.Place(), err)
	}
	if err := o.suits(limited, conn); err != nil {
		return err
	}
	for _, statement := range o.statements {
		if _, err := conn.Prepare(limited, statement.Name, statement.Text); err != nil {
			return &engine.OpenError{Place: o.database.Place(), Why: fmt.Sprintf("statement %s: %v", statement.Name, err)}
		}
	}
	for at, text := range control {
		if _, err := conn.Prepare(limited, controlNames[at], text); err != nil {
			return openError(o.database.Place(), err)
		}
	}
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "numeric", OID: pgtype.NumericOID, Codec: centsCodec{}})
	return nil
}

// suits reads back whether the settings took, and whether the server takes writes.
func (o *Opener) suits(limited context.Context, conn *pgx.Conn) error {
	var isolation, zone, readOnly, version string
	var recovery bool
	var number int
	question := `select ` + inEffect + `, current_setting('TimeZone'),
		current_setting('transaction_read_only'), pg_is_in_recovery(), current_setting('server_version'),
		current_setting('server_version_num')::int`
	row := conn.QueryRow(limited, question)
	if err := row.Scan(&isolation, &zone, &readOnly, &recovery, &version, &number); err != nil {
		return openError(o.database.Place(), err)
	}
	why := ""
	switch {
	case number < versionMin:
		why = fmt.Sprintf("it is PostgreSQL %s, and %d is the oldest that is supported", version, versionMin/10_000)
	case recovery || readOnly == "on":
		why = "it takes no writes: a replica, or set so"
	case isolation != o.database.Isolation || zone != "UTC":
		why = fmt.Sprintf("requested isolation %s and time zone UTC, server uses %s and %s", o.database.Isolation, isolation, zone)
	default:
		return nil
	}
	return &engine.OpenError{Place: o.database.Place(), Why: why}
}

// centsCodec sends amounts of money in the binary form of decimals; all else is left to pgx's own.
type centsCodec struct{ pgtype.NumericCodec }

// PlanEncode knows amounts of money.
func (c centsCodec) PlanEncode(types *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, known := value.(engine.Cents); known && format == pgtype.BinaryFormatCode {
		return centsPlan{}
	}
	return c.NumericCodec.PlanEncode(types, oid, format, value)
}

type centsPlan struct{}

// Encode appends an amount.
func (centsPlan) Encode(value any, into []byte) ([]byte, error) {
	cents := int64(value.(engine.Cents))
	sign := uint16(0)
	if cents < 0 {
		// The least of all has no opposite, and is no amount of any column.
		sign, cents = 0x4000, -cents
	}
	whole, fraction := cents/100, uint16(cents%100*100)
	var digits [5]uint16
	count := 0
	for ; whole > 0; whole /= 10_000 {
		digits[count] = uint16(whole % 10_000)
		count++
	}
	all := count
	if fraction > 0 {
		all++
	}
	into = appendWords(into, uint16(all), uint16(int16(count-1)), sign, 2)
	for at := count - 1; at >= 0; at-- {
		into = appendWords(into, digits[at])
	}
	if fraction > 0 {
		into = appendWords(into, fraction)
	}
	return into, nil
}

func appendWords(into []byte, words ...uint16) []byte {
	for _, word := range words {
		into = append(into, byte(word>>8), byte(word))
	}
	return into
}
