package postgres_test

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/postgres"
)

// A program that has a pool of connections anyway numbers its orders from a table beside them.
func ExampleNew() {
	number := func(ctx context.Context, url string) (int64, error) {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return 0, err
		}
		postgres.Prepare(config)
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return 0, err
		}
		defer pool.Close()
		store, err := postgres.New(pool, postgres.Options{RequireDurable: true})
		if err != nil {
			return 0, err
		}
		defer store.Close() // leaves the pool as it is
		orders, err := segment.New(ctx, store, "orders", segment.Config{})
		if err != nil {
			return 0, err
		}
		defer orders.Close(ctx) // gives back those that were not used
		return orders.NextContext(ctx)
	}
	_ = number
}
