package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/mysql"
)

// A program that has a pool of connections anyway numbers its orders from a table beside them.
func Example() {
	insert := func(ctx context.Context, pool *sql.DB, customer string) error {
		// It was made with multiStatements=true, and SetConnMaxLifetime bounds its connections.
		store, err := mysql.New(pool, mysql.Options{})
		if err != nil {
			return err
		}
		defer store.Close() // leaves the pool as it is
		orders, err := segment.New(ctx, store, "orders", segment.Config{})
		if err != nil {
			return err
		}
		defer func() {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := orders.Close(last); err != nil {
				fmt.Println("some numbers are left out:", err)
			}
		}()
		number, err := orders.NextContext(ctx)
		if err != nil {
			return err
		}
		_, err = pool.ExecContext(ctx, "INSERT INTO orders (number, customer) VALUES (?, ?)", number,
			customer)
		return err
	}
	_ = insert
}
