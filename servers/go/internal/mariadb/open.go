package mariadb

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
)

// connectMax is how long a server may take to let somebody in.
const connectMax = 10 * time.Second

// sqlMode is what our sessions say of values that do not fit: no.
const sqlMode = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// Opener opens connections to one database.
type Opener struct {
	db         *sql.DB
	database   *settings.Database
	statements []statements.Statement
	stack      *engine.Stack
}

// dialled is where the driver's dialler leaves the socket of the connection that is being opened.
type dialled struct{}

// Reach connects once, reads back what is in force, and asks the data questions that have a number as their answer.
func Reach(database *settings.Database, texts []statements.Statement, version string, questions []string) (*Opener, []int64, error) {
	connector, err := mysql.NewConnector(config(database))
	if err != nil {
		return nil, nil, fmt.Errorf("go-sql-driver: %w", err)
	}
	db := sql.OpenDB(connector)
	// The pool is ours: this one keeps no connection, and never makes another wait.
	db.SetMaxIdleConns(-1)
	opener := &Opener{db: db, database: database, statements: texts}
	opened, err := opener.Open(time.Now().Add(connectMax))
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	conn := opened.(*Conn).conn
	if opener.stack, err = stack(conn, database, version); err != nil {
		return nil, nil, openError(database.Place(), err)
	}
	answers := make([]int64, len(questions))
	for at, question := range questions {
		if err := conn.QueryRowContext(background, question).Scan(&answers[at]); err != nil {
			return nil, nil, openError(database.Place(), err)
		}
	}
	return opener, answers, nil
}

func config(database *settings.Database) *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = database.User, database.Password, database.Name
	config.Net, config.Addr = "tcp", database.Place()
	if database.Socket != "" {
		config.Net = "unix"
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		socket, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			*ctx.Value(dialled{}).(*net.Conn) = socket
		}
		return socket, err
	}
	// An update counts the rows that it found, also those that it left as they were.
	config.ClientFoundRows = true
	// Statements are prepared on the server, never put together here.
	config.InterpolateParams = false
	config.ParseTime, config.Loc = true, time.UTC
	// What breaks is told by the error.
	config.Logger = &mysql.NopLogger{}
	return config
}

// Stack is what was in force when the server was reached.
func (o *Opener) Stack() *engine.Stack { return o.stack }

// Open connects, makes the session's settings and prepares all statements.
func (o *Opener) Open(deadline time.Time) (engine.Conn, error) {
	if most := time.Now().Add(connectMax); deadline.After(most) {
		deadline = most
	}
	var socket net.Conn
	limited, cancel := context.WithDeadline(context.WithValue(background, dialled{}, &socket), deadline)
	defer cancel()
	conn, err := o.db.Conn(limited)
	if err != nil {
		return nil, openError(o.database.Place(), err)
	}
	opened := &Conn{conn: conn, socket: socket}
	if err := o.setSession(limited, opened); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

func (o *Opener) setSession(limited context.Context, opened *Conn) error {
	place, conn := o.database.Place(), opened.conn
	// Nothing may depend on the defaults of the server.
	variables := fmt.Sprintf("set time_zone = '+00:00', sql_mode = '%s', autocommit = 1, completion_type = 'NO_CHAIN', "+
		"character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, "+
		"sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, foreign_key_checks = 1, unique_checks = 1, "+
		"max_statement_time = %.3f",
		sqlMode, o.database.StatementTimeout.Seconds())
	for _, text := range []string{
		variables,
		"set session transaction isolation level " + o.database.Isolation + ", read write",
	} {
		if _, err := conn.ExecContext(limited, text); err != nil {
			return openError(place, err)
		}
	}
	if err := o.suits(limited, conn); err != nil {
		return err
	}
	opened.statements = make([]statement, len(o.statements))
	for at, text := range o.statements {
		prepared, err := conn.PrepareContext(limited, text.Text)
		if err != nil {
			return &engine.OpenError{Place: place, Why: fmt.Sprintf("statement %s: %v", text.Name, err)}
		}
		opened.statements[at] = statement{prepared: prepared, params: text.Params, inOrder: inOrder(text.Params), name: text.Name}
	}
	return nil
}

// inOrder tells whether parameters are sent as they are given.
func inOrder(params []int) bool {
	for at, param := range params {
		if at != param {
			return false
		}
	}
	return true
}

// suits reads back whether the settings took, and whether the server takes writes.
func (o *Opener) suits(limited context.Context, conn *sql.Conn) error {
	var version, isolation, mode, readOnly string
	question := "select version(), @@tx_isolation, @@sql_mode, @@read_only"
	if err := conn.QueryRowContext(limited, question).Scan(&version, &isolation, &mode, &readOnly); err != nil {
		return openError(o.database.Place(), err)
	}
	why := ""
	switch {
	case !strings.Contains(strings.ToLower(version), "mariadb"):
		why = "it says that it is MySQL " + version + "; MariaDB 10.6 or newer is needed"
	case readOnly != "0" && readOnly != "OFF":
		why = "it is read-only: a replica, or set so"
	case strings.ToLower(strings.ReplaceAll(isolation, "-", " ")) != o.database.Isolation:
		why = fmt.Sprintf("requested isolation %s, server uses %s", o.database.Isolation, isolation)
	case !strings.Contains(mode, "STRICT_ALL_TABLES"):
		why = fmt.Sprintf("asked for strict mode, in force is sql_mode `%s`", mode)
	default:
		return nil
	}
	return &engine.OpenError{Place: o.database.Place(), Why: why}
}
