package settings

import (
	"strings"
	"testing"
	"time"
)

func TestAURLIsReadAsDriversReadIt(t *testing.T) {
	for text, wanted := range map[string]Database{
		"postgres://a@127.0.0.1:5433/b?isolation=serializable&sslmode=disable": {
			Engine: Postgres, Host: "127.0.0.1", Port: 5433, User: "a", Name: "b", Isolation: "serializable"},
		"postgresql://b%40b:s%2Fcret@far/tpcc?sslmode=disable&statement_timeout_ms=70": {Engine: Postgres, Host: "far", Port: 5432,
			User: "b@b", Password: "s/cret", Name: "tpcc", Isolation: "read committed", StatementTimeout: 70 * time.Millisecond},
		"postgres://a@localhost/b?host=/run/pg": {Engine: Postgres, Host: "localhost", Port: 5432, Socket: "/run/pg", User: "a", Name: "b",
			Isolation: "read committed"},
		"postgres://a@[::1]:5/b": {Engine: Postgres, Host: "::1", Port: 5, User: "a", Name: "b", Isolation: "read committed"},
		"mariadb://root@localhost/b?socket=/run/m%20.sock&isolation=READ_COMMITTED": {Engine: MariaDB, Host: "localhost", Port: 3306,
			Socket: "/run/m .sock", User: "root", Name: "b", Isolation: "read committed"},
		"mysql://u@127.0.0.1/b?password=p": {Engine: MariaDB, Host: "127.0.0.1", Port: 3306, User: "u", Password: "p", Name: "b",
			Isolation: "repeatable read"},
	} {
		if found, err := ParseDatabase(text); err != nil || *found != wanted {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

func TestWhatIsWrongIsSaidWithoutThePassword(t *testing.T) {
	for text, wanted := range map[string]string{
		"sqlite:bank.db": "begins with",
		"postgres://u:secret@h/d?sslmode=require":                "not encrypted",
		"postgres://u:secret@h/d?sslmode=prefer":                 "not encrypted",
		"postgres://u:secret@h/d":                                "needs sslmode=disable",
		"postgres://u:secret@localhost":                          "database is missing",
		"postgres://:secret@localhost/d":                         "user is missing",
		"mysql://u:secret@localhost/d?host=/run":                 "no option `host`",
		"mysql://u:secret@localhost:port/d":                      "not a URL",
		"mysql://u:sec ret\x01@localhost/d":                      "not a URL",
		"postgres://u:secret@localhost:0/d":                      "port",
		"postgres://u:secret@localhost:99999/d":                  "port",
		"postgres://u:secret@localhost/d?isolation=none":         "isolation is one of",
		"postgres://u:secret@localhost/d?statement_timeout_ms=x": "whole number",
		"postgres://u:secret@localhost/d?nonsense=secret":        "no option `nonsense`",
		"postgres://u:secret@localhost/d?a=%zz":                  "two digits",
	} {
		_, err := ParseDatabase(text)
		if err == nil || !strings.Contains(err.Error(), wanted) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec ret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAllAddressesOfIPv4AreNotThoseOfIPv6(t *testing.T) {
	for listen, network := range map[string]string{"0.0.0.0:0": "tcp4", "127.0.0.1:80": "tcp4", "[::]:0": "tcp6", "[::1]:80": "tcp6"} {
		if found := (&Settings{Listen: listen}).Network(); found != network {
			t.Errorf("%s: %s", listen, found)
		}
	}
}

func TestTheEnvironment(t *testing.T) {
	base := map[string]string{
		"STACKMARK_WORKLOAD": "catalogue", "STACKMARK_ADAPTER": "pgx", "STACKMARK_DB": "postgres://u@127.0.0.1/d", "STACKMARK_DB_PASSWORD": "p",
		"STACKMARK_POOL": "8", "STACKMARK_THREADS": "2", "STACKMARK_LISTEN": "127.0.0.1:0",
	}
	with := func(name, value string) (*Settings, error) {
		return Read(func(asked string) (string, bool) {
			if asked == name {
				return value, value != ""
			}
			found, there := base[asked]
			return found, there
		})
	}
	settings, err := with("", "")
	if err != nil || settings.Pool != 8 || settings.Threads != 2 || settings.Databases[0].Password != "p" {
		t.Fatal(settings, err)
	}
	base["STACKMARK_WORKLOAD"], base["STACKMARK_ADAPTER"] = "transfer", "pgx/saga"
	base["STACKMARK_DB_1_PASSWORD"] = "q"
	if settings, err = with("STACKMARK_DB_1", "postgres://u@127.0.0.1/e"); err != nil || len(settings.Databases) != 2 ||
		settings.Databases[1].Password != "q" || settings.Databases[0].Password != "p" || settings.Style != "saga" {
		t.Fatal(settings, err)
	}
	for _, wrong := range [][2]string{{"STACKMARK_DB_1", "mysql://u@127.0.0.1/e"}, {"STACKMARK_DB", "mysql://u@127.0.0.1/e"}, {"STACKMARK_ADAPTER", "pgx/2pc"}} {
		if _, err := with(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "STACKMARK_") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	base["STACKMARK_WORKLOAD"], base["STACKMARK_ADAPTER"] = "catalogue", "pgx"
	for _, wrong := range [][2]string{
		{"STACKMARK_DB_1", "postgres://u@127.0.0.1/e"}, {"STACKMARK_WORKLOAD", ""}, {"STACKMARK_WORKLOAD", "tpcb"}, {"STACKMARK_ADAPTER", ""}, {"STACKMARK_ADAPTER", "go-sql-driver"},
		{"STACKMARK_DB", ""}, {"STACKMARK_DB", "mysql://u@127.0.0.1/d"}, {"STACKMARK_POOL", "0"}, {"STACKMARK_POOL", "many"},
		{"STACKMARK_THREADS", "-1"}, {"STACKMARK_LISTEN", "127.0.0.1"}, {"STACKMARK_LISTEN", ":80"}, {"STACKMARK_LISTEN", "localhost:http"},
	} {
		if _, err := with(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "STACKMARK_") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
