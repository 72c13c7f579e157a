package config_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
)

func parse(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOpen: what the program sets and what the file says meet in one generator, and
// Close frees the worker ID for the next.
func TestOpen(t *testing.T) {
	c := parse(t, "coordinator: static://?worker=5&namespace=config-open\nlayout: "+
		"javascript\nworker_ids: 0-7\n")
	changes := make(chan core.Health, 10)
	c.Clock, c.Logger = clock.System(), slog.New(slog.DiscardHandler)
	c.OnChange = func(h core.Health) { changes <- h }
	for range 2 {
		g, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, err := g.Next()
		if err != nil || core.JavaScriptLayout().Decompose(id).WorkerID != 5 {
			t.Errorf("%v, %v", id, err)
		}
		if g.Coordinator() == nil {
			t.Error("no coordinator")
		}
		for range 2 {
			if err := g.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.Next(); !errors.Is(err, core.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if h := <-changes; h.Healthy {
			t.Errorf("OnChange got %+v", h)
		}
	}
}

// TestClock: a coordinator has the clock of the generator. One that had another would refuse the
// generator's, which is far ahead.
func TestClock(t *testing.T) {
	c := parse(t, "coordinator: file://"+filepath.ToSlash(t.TempDir())+"/ids\n")
	c.Clock = clocktest.NewShifted(time.Now().Add(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	g, err := c.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestStart: the generator is there at once, and ready when its worker ID is leased.
func TestStart(t *testing.T) {
	c := parse(t, "coordinator: static://?worker=6&namespace=config-start\n")
	c.Logger = slog.New(slog.DiscardHandler)
	g, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(g.Check(), g.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := (config.Config{}).Start(t.Context()); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("without a coordinator: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	const static = "coordinator: static://?worker=5&namespace=config-errors"
	for _, tt := range []struct{ name, file, want string }{
		{
			"no coordinator", "ttl: 3s\n",
			"config: no coordinator is set; name its URL with the key coordinator of the file, or in " +
				"UNALIKE_COORDINATOR",
		},
		{
			"unknown scheme", "coordinator: etcd3://u:secret@h/n\n",
			"config: line 1: coordinator: unalike: invalid URL: unknown scheme \"etcd3\"; known are file, " +
				"static, test; a driver is made known by importing its package",
		},
		{
			"two horizons", static + "&horizon=4s\nhorizon: 5s\n",
			"Horizon is 5s in the configuration and 4s in the coordinator's URL or options; set it in one " +
				"place (coordinator is set in line 1, horizon is set in line 2)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := parse(t, tt.file).Open(t.Context())
			if g != nil || !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
	// Nothing stays open behind an error: the worker ID can be had.
	g, err := parse(t, static+"\n").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// told ends a context when something is logged that has text in it.
type told struct {
	text string
	end  context.CancelFunc
}

func (w told) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.text)) {
		w.end()
	}
	return len(b), nil
}

// TestOpenLogs: what the driver has to say goes to the logger as well.
func TestOpenLogs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	state := filepath.ToSlash(filepath.Join(t.TempDir(), "state"))
	c := parse(t, "coordinator: static://?worker=5&horizon=10m&state="+state+"\n")
	c.Logger = slog.New(slog.NewTextHandler(told{
		"the namespace is new, or all of it was lost",
		cancel,
	}, nil))
	if g, err := c.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v; want it to wait and to say why until it is ended", g, err)
	}
}
