package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/mysql"
	"github.com/unalike-id/unalike/core"
)

// A program that has a pool already.
func ExampleNew() {
	ctx := context.Background()
	pool, err := sql.Open("mysql", "app:password@tcp(db)/app?multiStatements=true")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	pool.SetConnMaxLifetime(time.Minute) // a name that moves is noticed
	c, err := mysql.New(pool, "orders", mysql.Options{})
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
	c, err := coord.Open(ctx, "mysql://app:password@db/app?namespace=orders", coord.OpenOptions{})
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
