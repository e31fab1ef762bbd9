// database/sql over lib/pq and over pgx: prepared statements, transactions, NULLs, arrays, COPY, notices, LISTEN.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(ok bool, what ...any) {
	if !ok {
		panic(fmt.Sprint(what...))
	}
}

func code(err error) string {
	var ofPq *pq.Error
	var ofPgx *pgconn.PgError
	switch {
	case errors.As(err, &ofPq):
		return string(ofPq.Code)
	case errors.As(err, &ofPgx):
		return ofPgx.Code
	}
	return fmt.Sprint(err)
}

func work(driver string, url string) {
	db, err := sql.Open(driver, url)
	must(err)
	defer db.Close()
	_, err = db.Exec("DROP TABLE IF EXISTS gosql; CREATE TABLE gosql (id serial PRIMARY KEY, name text UNIQUE, n numeric(10,2), at timestamptz, raw bytea, ok boolean)")
	must(err)
	insert, err := db.Prepare("INSERT INTO gosql (name, n, at, raw, ok) VALUES ($1, $2, $3, $4, $5) RETURNING id")
	must(err)
	now := time.Now().UTC().Truncate(time.Microsecond)
	var id int
	must(insert.QueryRow("one", "1.50", now, []byte{0, 1, 255}, true).Scan(&id))
	must(insert.QueryRow(sql.NullString{}, nil, nil, nil, nil).Scan(&id))
	check(id == 2, "id ", id)
	var name sql.NullString
	var n string
	var at time.Time
	var raw []byte
	must(db.QueryRow("SELECT name, n, at, raw FROM gosql WHERE id = $1", 1).Scan(&name, &n, &at, &raw))
	check(name.String == "one" && n == "1.50" && at.Equal(now) && len(raw) == 3, name, n, at, raw)
	_, err = insert.Exec("one", nil, nil, nil, nil)
	check(code(err) == "23505", err)
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	must(err)
	_, err = tx.Exec("DELETE FROM gosql")
	check(code(err) == "25006", err)
	must(tx.Rollback())
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(ctx, "SELECT pg_sleep(10)")
	check(err != nil, "not cancelled")
	rows, err := db.Query("SELECT g, g::text FROM generate_series(1, 1000) g")
	must(err)
	types, err := rows.ColumnTypes()
	must(err)
	check(types[0].DatabaseTypeName() == "INT4" && types[1].DatabaseTypeName() == "TEXT", types[0].DatabaseTypeName())
	seen := 0
	for rows.Next() {
		seen++
	}
	must(rows.Err())
	check(seen == 1000, seen)
	_, err = db.Exec("DROP TABLE gosql")
	must(err)
}

func onlyPq(url string) {
	db, err := sql.Open("postgres", url)
	must(err)
	defer db.Close()
	_, err = db.Exec("DROP TABLE IF EXISTS gopq; CREATE TABLE gopq (a integer, tags text[])")
	must(err)
	tx, err := db.Begin()
	must(err)
	copied, err := tx.Prepare(pq.CopyIn("gopq", "a", "tags"))
	must(err)
	for i := range 100 {
		_, err = copied.Exec(i, pq.Array([]string{"x", fmt.Sprint("y,", i)}))
		must(err)
	}
	_, err = copied.Exec()
	must(err)
	must(copied.Close())
	must(tx.Commit())
	var tags []string
	must(db.QueryRow("SELECT tags FROM gopq WHERE a = ANY($1) ORDER BY a DESC LIMIT 1", pq.Array([]int64{1, 7})).Scan(pq.Array(&tags)))
	check(len(tags) == 2 && tags[1] == "y,7", tags)
	listener := pq.NewListener(url, time.Second, time.Minute, nil)
	must(listener.Listen("gopq_news"))
	_, err = db.Exec("NOTIFY gopq_news, 'hello'")
	must(err)
	select {
	case heard := <-listener.Notify:
		check(heard.Extra == "hello", heard)
	case <-time.After(5 * time.Second):
		panic("nothing heard")
	}
	must(listener.Close())
	_, err = db.Exec("DROP TABLE gopq")
	must(err)
}

func main() {
	url := fmt.Sprintf("postgres://%s@%s:%s/%s?sslmode=disable", os.Getenv("PGUSER"), os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGDATABASE"))
	work("postgres", url)
	work("pgx", url)
	onlyPq(url)
}
