package config_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/core"
)

// A program that reads a file, with the environment over it.
func ExampleLoad() {
	issue := func(ctx context.Context) (err error) {
		cfg, err := config.Load("unalike.yaml")
		if err != nil {
			return err
		}
		cfg.Logger = slog.Default()
		cfg.OnChange = func(h core.Health) {
			slog.Warn("the IDs changed", "healthy", h.Healthy, "reason", h.Err)
		}
		ids, err := cfg.Open(ctx)
		if err != nil {
			return err
		}
		defer func() {
			// If ctx is what makes the program stop, it has ended when it gets here.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, ids.Close(last))
		}()
		id, err := ids.Next()
		if err != nil {
			return err
		}
		fmt.Println(id)
		return nil
	}
	_ = issue
}

func ExampleParse() {
	cfg, err := config.Parse([]byte(`
coordinator: etcd://orders:secret@etcd1/orders
horizon: 60s
worker_ids: 0-511 # the share of this datacenter
`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cfg)
	// Output: coordinator="etcd://orders:xxxxx@etcd1/orders" horizon="1m0s" worker_ids="0-511"
}

func ExampleParse_mistake() {
	_, err := config.Parse([]byte("ttl: 10s\nhorizon: 5s\nttl: 5s\n"))
	fmt.Println(err)
	// Output: config: line 3: ttl is set a second time; it is in line 1 already
}
