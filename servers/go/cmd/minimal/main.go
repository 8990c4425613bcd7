// Minimal is what the server is measured against: a handler of net/http that does one prepared point read and answers with a
// document that is always the same. It checks nothing and says nothing of what it did; it takes the environment of the
// server, and is stopped like it.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
)

var body = []byte(`{"id":5,"category":5,"name":"creamy potato 5","kcal":396,"protein":332,"fat":192,"carbs":226,"fibre":null,` +
	`"price":148,"version":1,"x":"12"}`)

// read reads the food with an id, if there is one.
type read func(ctx context.Context, id int64) error

func main() {
	settings, err := settings.Read(settings.Environment)
	if err == nil && settings.Workload != "catalogue" {
		err = fmt.Errorf("there is no minimal handler of %s", settings.Workload)
	}
	if err == nil {
		err = run(settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(2)
	}
}

func run(settings *settings.Settings) error {
	runtime.GOMAXPROCS(settings.Threads)
	texts, err := statements.Find("catalogue", string(settings.Databases[0].Engine), []string{"food"})
	if err != nil {
		return err
	}
	read, err := open(settings, texts[0].Text)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /categories", func(w http.ResponseWriter, r *http.Request) { answer(w, r, read, "1") })
	mux.HandleFunc("GET /foods/{id}", func(w http.ResponseWriter, r *http.Request) { answer(w, r, read, r.PathValue("id")) })
	listening, err := net.Listen(settings.Network(), settings.Listen)
	if err != nil {
		return err
	}
	go end()
	fmt.Printf("listening on http://%s\n", listening.Addr())
	return http.Serve(listening, mux)
}

// end ends the program at SIGTERM, and when standard input does.
func end() {
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go func() {
		defer stop()
		for into := make([]byte, 512); ; {
			if _, err := os.Stdin.Read(into); err != nil {
				return
			}
		}
	}()
	<-signalled.Done()
	os.Exit(0)
}

func answer(w http.ResponseWriter, r *http.Request, read read, text string) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		err = read(r.Context(), id)
	}
	if err != nil {
		http.Error(w, "no food", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone misses nothing.
	_, _ = w.Write(body)
}

// food is what a read scans into.
type food struct {
	id, category                              int64
	name                                      string
	kcal, protein, fat, carbs, price, version int64
	fibre                                     *int64
}

func (f *food) columns() []any {
	return []any{&f.id, &f.category, &f.name, &f.kcal, &f.protein, &f.fat, &f.carbs, &f.fibre, &f.price, &f.version}
}

func open(settings *settings.Settings, text string) (read, error) {
	if string(settings.Databases[0].Engine) == "postgres" {
		return postgres(settings, text)
	}
	return mariadb(settings, text)
}

func postgres(settings *settings.Settings, text string) (read, error) {
	database := settings.Databases[0]
	config, err := pgxpool.ParseConfig("host=127.0.0.1 user=nobody dbname=none password=none sslmode=disable")
	if err != nil {
		return nil, err
	}
	to := config.ConnConfig
	to.Host, to.Port = database.Host, uint16(database.Port)
	if database.Socket != "" {
		to.Host = database.Socket
	}
	to.User, to.Password, to.Database = database.User, database.Password, database.Name
	config.MaxConns = int32(settings.Pool)
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Prepare(ctx, "food", text)
		return err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id int64) error {
		var food food
		return pool.QueryRow(ctx, "food", id).Scan(food.columns()...)
	}, nil
}

func mariadb(settings *settings.Settings, text string) (read, error) {
	database, config := settings.Databases[0], mysql.NewConfig()
	config.User, config.Passwd, config.DBName = database.User, database.Password, database.Name
	config.Net, config.Addr = "tcp", database.Place()
	if database.Socket != "" {
		config.Net = "unix"
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(settings.Pool)
	db.SetMaxIdleConns(settings.Pool)
	// database/sql prepares it on each connection, when it is first run there.
	prepared, err := db.Prepare(text)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id int64) error {
		var food food
		return prepared.QueryRowContext(ctx, id).Scan(food.columns()...)
	}, nil
}
