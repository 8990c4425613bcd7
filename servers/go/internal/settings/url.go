package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Engine is what a database runs on, by its name in subjects and files.
type Engine string

// The engines that are served.
const (
	Postgres Engine = "postgres"
	MariaDB  Engine = "mariadb"
)

// Database is where the data is, and how sessions of it are to be.
type Database struct {
	Engine Engine
	Host   string
	Port   int
	// Socket is PostgreSQL's folder of the unix socket, or MariaDB's socket; empty over TCP.
	Socket   string
	User     string
	Password string
	Name     string
	// Isolation of writing transactions, in the words of SQL: `read committed`.
	Isolation string
	// StatementTimeout is 0 where the server's own is left.
	StatementTimeout time.Duration
}

// Place names the server in messages.
func (d *Database) Place() string {
	if d.Socket != "" {
		return d.Socket
	}
	return net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
}

// ParseDatabase reads a database's URL. No error repeats a password, or anything else that could hold one.
func ParseDatabase(text string) (*Database, error) {
	scheme, _, _ := strings.Cut(text, "://")
	database := &Database{Host: "127.0.0.1"}
	switch scheme {
	case "postgres", "postgresql":
		database.Engine, database.Port, database.Isolation = Postgres, 5432, "read committed"
	case "mysql", "mariadb":
		database.Engine, database.Port, database.Isolation = MariaDB, 3306, "repeatable read"
	default:
		return nil, errors.New("a database's URL begins with postgres:// or mysql://")
	}
	parsed, err := url.Parse(text)
	if err != nil {
		// The error of the parser shows the URL, with the password in it.
		return nil, fmt.Errorf("it is not a URL such as %s://user@127.0.0.1/name", scheme)
	}
	if err := database.address(parsed); err != nil {
		return nil, err
	}
	tls := ""
	for part := range strings.SplitSeq(parsed.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return nil, errors.New("its options have a % without two digits behind it")
		}
		if name == "sslmode" || name == "ssl-mode" {
			tls = value
		} else if err := database.option(name, value); err != nil {
			return nil, err
		}
	}
	return database, database.complete(tls)
}

func (d *Database) address(parsed *url.URL) error {
	if host := parsed.Hostname(); strings.HasPrefix(host, "/") {
		d.Socket = host
	} else if host != "" {
		d.Host = host
	}
	if text := parsed.Port(); text != "" {
		if err := d.port(text); err != nil {
			return err
		}
	}
	d.User = parsed.User.Username()
	d.Password, _ = parsed.User.Password()
	d.Name = strings.TrimLeft(parsed.Path, "/")
	return nil
}

func (d *Database) port(text string) error {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return errors.New("its port is not 1 to 65535")
	}
	d.Port = int(port)
	return nil
}

func (d *Database) option(name, value string) error {
	switch {
	case name == "isolation":
		switch level := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(value)); level {
		case "read committed", "repeatable read", "serializable":
			d.Isolation = level
		default:
			return errors.New("isolation is one of read-committed, repeatable-read, serializable")
		}
	case name == "statement_timeout_ms":
		ms, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return errors.New("statement_timeout_ms is a whole number of milliseconds")
		}
		d.StatementTimeout = time.Duration(ms) * time.Millisecond
	case name == "host" && d.Engine == Postgres && strings.HasPrefix(value, "/"), name == "socket" && d.Engine == MariaDB:
		d.Socket = value
	case name == "port":
		return d.port(value)
	case name == "user":
		d.User = value
	case name == "password":
		d.Password = value
	default:
		return fmt.Errorf("there is no option `%s` here", name)
	}
	return nil
}

func (d *Database) complete(tls string) error {
	switch {
	case d.User == "":
		return errors.New("the user is missing")
	case d.Name == "":
		return errors.New("the name of the database is missing")
	}
	near := d.Socket != "" || d.Host == "localhost" || d.Host == "127.0.0.1" || d.Host == "::1"
	switch strings.ToLower(tls) {
	case "disable", "disabled":
		return nil
	case "":
		if near {
			return nil
		}
		return errors.New("connections are not encrypted here: a server elsewhere needs sslmode=disable")
	}
	return errors.New("connections are not encrypted here, and sslmode asks for it: only sslmode=disable is served")
}
