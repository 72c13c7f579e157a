package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/postgres"
	"github.com/unalike-id/unalike/core"
)

// A program that has a pool already.
func ExampleNew() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("postgres://app:password@db/app")
	if err != nil {
		log.Fatal(err)
	}
	postgres.Prepare(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	c, err := postgres.New(pool, "orders", postgres.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer c.Close() // after the generator
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		log.Print(err)
		return
	}
	defer g.Close(ctx)
	fmt.Println(g.Next())
}

// A program that takes the coordinator from its configuration. The import of this package, for its
// side effect alone, makes the scheme known.
func Example_url() {
	ctx := context.Background()
	c, err := coord.Open(ctx, "postgres://app:password@db/app?namespace=orders", coord.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close() // after the generator
	g, err := core.New(ctx, c, core.Config{Lease: coord.LeaseConfig{Identity: "orders-0"}})
	if err != nil {
		log.Print(err)
		return
	}
	defer g.Close(ctx)
	fmt.Println(g.Next())
}
