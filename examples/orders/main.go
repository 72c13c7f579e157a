// Command orders is a small service whose orders get their numbers from unalike. Which
// back end leases its worker ID is one line in unalike.yaml.
//
//	go run . -config unalike.yaml -listen 127.0.0.1:8080
//	curl -X POST http://127.0.0.1:8080/orders
//
// It shows what a service needs: numbers in its handlers, a readiness probe at /ready,
// the state of the generator at /health, and an orderly end on SIGTERM that finishes the
// requests under way and gives the worker ID back.
//
// With -state, or UNALIKE_STATE, it goes on when it is started again while its back end is away.
//
// In Redis, a namespace is declared new once with `unalike init --coordinator URL` before
// the first start; without that it grants nothing for half a minute. The service listens
// at once, and answers 503 until it has a worker ID.
//
// To move it to another back end: stop all replicas, let the new namespace follow the
// old one with `unalike init --coordinator NEW --after OLD`, change the line, and start
// them again. All numbers from then on are above those from before.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/probe"
)

const (
	// tidyTime is how long the end may take: requests under way, and the worker ID.
	tidyTime = 10 * time.Second
	// orderTime is how long an order waits for its number.
	orderTime = 2 * time.Second
)

func main() {
	file := flag.String("config", "unalike.yaml", "the `FILE` with the settings")
	state := flag.String("state", "", "the `FILE` that keeps the worker ID through a restart while "+
		"the back end is away; in place of what the settings say")
	listen := flag.String("listen", "127.0.0.1:8080",
		"the `ADDRESS` to serve at; port 0 is any that is free")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(*file, *state, *listen, log); err != nil {
		log.Error("orders failed", "error", err)
		os.Exit(1)
	}
}

// run serves until a signal asks it to end.
func run(file, state, listen string, log *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(file)
	if err != nil {
		return err
	}
	if state != "" {
		cfg.StateFile = state
	}
	cfg.Logger = log
	cfg.OnChange = func(h core.Health) {
		log.Info("numbers", "available", h.Healthy, "closed", h.Closed, "reason", h.Err)
	}
	log.Info("starting", "config", cfg)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	log.Info("listening", "address", l.Addr().String())
	ids, err := cfg.Start(ctx) // not ready at first: the service listens meanwhile, and says why
	if err != nil {
		return errors.Join(err, l.Close())
	}
	// When it gets here ctx has ended, so tidying up has a time of its own.
	defer func() { err = errors.Join(err, within(tidyTime, ids.Close)) }()
	server := &http.Server{Handler: routes(ids), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		return within(tidyTime, server.Shutdown)
	}
}

// within calls do with a context that lasts for d.
func within(d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return do(ctx)
}

// routes are the service's pages.
func routes(ids *core.Generator) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), orderTime)
		defer cancel()
		id, err := ids.NextContext(ctx) // waits for the back end, but not for ever
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		reply(w, http.StatusCreated, map[string]core.ID{"id": id})
	})
	mux.Handle("GET /ready", probe.Handler(ids))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, ids.Health())
	})
	return mux
}

// reply writes v as JSON.
func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
