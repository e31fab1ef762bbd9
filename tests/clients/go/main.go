// pgx and database/sql: prepared statements, batches, COPY, transactions, errors.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	dsn := fmt.Sprintf("postgres://verso@127.0.0.1:%s/verso?sslmode=disable", os.Getenv("PGPORT"))
	c, err := pgx.Connect(ctx, dsn)
	check(err)
	_, err = c.Exec(ctx, "DROP TABLE IF EXISTS gopgx; CREATE TABLE gopgx (a integer, b text, f double precision)")
	check(err)
	_, err = c.Exec(ctx, "INSERT INTO gopgx VALUES ($1, $2, $3)", 1, "x", 1.5)
	check(err)
	rows := [][]any{}
	for i := 2; i < 1000; i++ {
		rows = append(rows, []any{int32(i), fmt.Sprint("r", i), 0.5})
	}
	n, err := c.CopyFrom(ctx, pgx.Identifier{"gopgx"}, []string{"a", "b", "f"}, pgx.CopyFromRows(rows))
	check(err)
	if n != 998 {
		panic(n)
	}
	batch := &pgx.Batch{}
	for i := 0; i < 20; i++ {
		batch.Queue("SELECT $1::int", i)
	}
	results := c.SendBatch(ctx, batch)
	for i := 0; i < 20; i++ {
		var got int
		check(results.QueryRow().Scan(&got))
		if got != i {
			panic(got)
		}
	}
	check(results.Close())
	_, err = c.Exec(ctx, "SELECT 1/0")
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "22012" {
		panic(err)
	}
	tx, err := c.Begin(ctx)
	check(err)
	_, err = tx.Exec(ctx, "DELETE FROM gopgx")
	check(err)
	check(tx.Rollback(ctx))
	check(c.Close(ctx))

	db, err := sql.Open("pgx", dsn)
	check(err)
	var count int
	check(db.QueryRow("SELECT count(*) FROM gopgx WHERE a > $1", 0).Scan(&count))
	if count != 999 {
		panic(count)
	}
	statement, err := db.Prepare("SELECT b FROM gopgx WHERE a = $1")
	check(err)
	var b string
	check(statement.QueryRow(1).Scan(&b))
	if b != "x" {
		panic(b)
	}
	_, err = db.Exec("DROP TABLE gopgx")
	check(err)
	check(db.Close())
}
