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
)

// tidyTime is how long the end may take: requests under way, and the worker ID.
const tidyTime = 5 * time.Second

func main() {
	file := flag.String("config", "unalike.yaml", "the `FILE` with the settings")
	listen := flag.String("listen", "127.0.0.1:8080", "the `ADDRESS` to serve at; port 0 is any that is free")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(*file, *listen, log); err != nil {
		log.Error("orders failed", "error", err)
		os.Exit(1)
	}
}

// run serves until a signal asks it to end.
func run(file, listen string, log *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(file)
	if err != nil {
		return err
	}
	cfg.Logger = log
	cfg.OnChange = func(h core.Health) { log.Info("numbers", "available", h.Healthy, "reason", h.Err) }
	log.Info("starting", "config", cfg)
	ids, err := cfg.Open(ctx)
	if err != nil {
		return err
	}
	// When it gets here ctx has ended, so tidying up has a time of its own.
	defer func() { err = errors.Join(err, within(tidyTime, ids.Close)) }()

	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	log.Info("listening", "address", l.Addr().String())
	server := &http.Server{Handler: routes(ids.Generator), ReadHeaderTimeout: 5 * time.Second}
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
		id, err := ids.NextContext(r.Context()) // waits for the back end as long as the client does
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		reply(w, http.StatusCreated, map[string]core.ID{"id": id})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		look, cancel := context.WithCancel(context.Background())
		cancel() // with a context that has ended, Ready only looks
		if err := ids.Ready(look); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
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
