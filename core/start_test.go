package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// begin starts a generator without waiting for it.
func begin(t *testing.T, f *coordtest.Fake, edit ...func(*core.Config)) *leased {
	t.Helper()
	clock := clocktest.NewShifted(time.Now())
	cfg := leaseConfig(clock)
	for _, e := range edit {
		e(&cfg)
	}
	g, err := core.Start(f.Client(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return &leased{Generator: g, t: t, fake: f, clock: clock, layout: cfg.Layout}
}

// journal returns an option that keeps the log's lines, and what reads them.
func journal() (keep func(*core.Config), lines func() string) {
	var mu sync.Mutex
	var log bytes.Buffer
	write := func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}
	return func(c *core.Config) { c.Logger = slog.New(slog.NewTextHandler(writer(write), nil)) }, func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestStartReturnsAtOnceAndServesWhenTheCoordinatorIsThere(t *testing.T) {
	for name, edit := range map[string]func(*core.Config){"one": func(*core.Config) {}, "three": func(c *core.Config) { c.Stripes = 3 }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(3)
				f.Outage(true)
				began := time.Now()
				g := begin(t, f, edit)
				if took := time.Since(began); took != 0 {
					t.Errorf("Start took %v", took)
				}
				wantText(t, g.Check(), "core: generator not started yet: no worker ID is leased yet, the coordinator has not answered so far; service begins by itself")
				f.Outage(false)
				f.Refuse(true)
				settle(time.Minute)
				const why = "core: generator not started yet: no worker ID: coordtest: Acquire of the fake: coordtest: back end unreachable; service begins by itself once a worker ID is leased"
				wantText(t, g.Check(), why)
				_, err := g.Next()
				wantText(t, err, why)
				if !errors.Is(err, core.ErrNotStarted) || !errors.Is(err, coordtest.ErrUnreachable) {
					t.Errorf("Next: %v", err)
				}
				h := g.Health()
				if h.Healthy || h.Closed || h.Workers[0].WorkerID != -1 || h.Issued != 0 || h.Errors != (core.ErrorCounts{NotStarted: 1}) {
					t.Errorf("Health: %+v", h)
				}
				time.AfterFunc(10*time.Second, func() { f.Refuse(false) })
				began = time.Now()
				if _, err := g.NextContext(t.Context()); err != nil || time.Since(began) > 12*time.Second {
					t.Errorf("NextContext took %v: %v", time.Since(began), err)
				}
				if err := g.Check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStartRefusesAWrongConfig(t *testing.T) {
	g, err := core.Start(newFake(1).Client(), core.Config{Stripes: -1})
	if g != nil || !errors.Is(err, core.ErrInvalidConfig) {
		t.Errorf("Start: %v, %v", g, err)
	}
}

func TestStartThatIsClosedLeavesNothingBehind(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *coordtest.Fake){
		"refused":  func(_ *testing.T, f *coordtest.Fake) { f.Refuse(true) },
		"not open": func(t *testing.T, f *coordtest.Fake) { ahead(t, f, leaseConfig(nil).Layout, time.Hour) },
		"serving":  func(*testing.T, *coordtest.Fake) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(1)
				prepare(t, f)
				g := begin(t, f)
				settle(3 * time.Second)
				began := time.Now()
				if err := g.Close(t.Context()); err != nil || time.Since(began) > time.Second {
					t.Errorf("Close took %v: %v", time.Since(began), err)
				}
				if h := f.Holders(); len(h) != 0 {
					t.Errorf("held are %v", h)
				}
				if err := g.Check(); !errors.Is(err, core.ErrClosed) {
					t.Errorf("Check: %v", err)
				}
			})
		})
	}
}

// A window that opens later is announced, and so is its opening.
func TestStartAnnouncesTheWaitForItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep, lines := journal()
		f := newFake(1)
		opens := ahead(t, f, leaseConfig(nil).Layout, 20*time.Second)
		g := begin(t, f, keep)
		settle(time.Second)
		if err := g.Check(); !errors.Is(err, core.ErrWindowNotOpen) {
			t.Errorf("Check: %v", err)
		}
		if want := fmt.Sprintf(`level=WARN msg="waiting for the issue window to open" worker_id=0 for=20s opens=%s reason=`, at(opens)); strings.Count(lines(), want) != 1 {
			t.Errorf("the log lacks %s:\n%s", want, lines())
		}
		settle(time.Minute)
		if strings.Count(lines(), "level=WARN") != 2 || !strings.Contains(lines(), `level=WARN msg="the issue window is open" after=20s`) {
			t.Errorf("the log is\n%s", lines())
		}
		g.next()
	})
}

// Check returns at once where Ready waits, and what it finds brings the keeper into action.
func TestCheckOnlyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(1))
		if err := g.Check(); err != nil {
			t.Error(err)
		}
		settle(time.Second)
		g.clock.Step(time.Hour)
		began := time.Now()
		if err := g.Check(); !errors.Is(err, core.ErrWindowEnded) || time.Since(began) != 0 {
			t.Errorf("Check took %v: %v", time.Since(began), err)
		}
		settle(100 * time.Millisecond)
		if err := g.Check(); err != nil {
			t.Errorf("the keeper was not told: %v", err)
		}
	})
}

// The start timeout is a setting of its own: no lease time bounds it.
func TestNewGoesOnForItsStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{2 * time.Second, 3 * time.Minute} {
			f := newFake(1)
			f.Refuse(true)
			cfg := leaseConfig(clocktest.NewShifted(time.Now()))
			cfg.StartTimeout = limit
			began := time.Now()
			_, err := core.New(t.Context(), f.Client(), cfg)
			if took := time.Since(began); took < limit || took > limit+time.Second || !errors.Is(err, coordtest.ErrUnreachable) {
				t.Errorf("New took %v: %v", took, err)
			}
		}
	})
}

// Close is a change of its own, whatever the generator lacked before.
func TestOnChangeTellsCloseFromAnOutage(t *testing.T) {
	for name, before := range map[string]func(*leased){
		"serving":      func(*leased) {},
		"outage":       func(g *leased) { g.fake.Refuse(true); settle(time.Minute); g.fake.Refuse(false) },
		"lost":         func(g *leased) { g.fake.Refuse(true); g.fake.Steal(0); settle(time.Minute) },
		"not started":  func(*leased) {},
		"two stripes":  func(*leased) {},
		"closed twice": func(g *leased) { _ = g.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var told []bool
				f := newFake(2)
				f.Refuse(name == "not started")
				g := begin(t, f, func(c *core.Config) {
					c.Stripes = 1
					if name == "two stripes" {
						c.Stripes = 2
					}
					c.OnChange = func(h core.Health) {
						mu.Lock()
						defer mu.Unlock()
						told = append(told, h.Closed)
						if h.Closed != errors.Is(h.Err, core.ErrClosed) || h.Closed && h.Healthy {
							t.Errorf("told was %+v", h)
						}
					}
				})
				settle(time.Second)
				before(g)
				_ = g.Close(context.Background()) // the fake may refuse
				settle(time.Second)
				closed := 0
				for _, c := range told {
					if c {
						closed++
					}
				}
				if closed != 1 || !told[len(told)-1] {
					t.Errorf("told was Closed: %v", told)
				}
			})
		})
	}
}

// A call that its context has ended is counted as what it waited for.
func TestCallsEndedByTheirContextAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		f := newFake(1)
		f.Refuse(true)
		g := begin(t, f)
		settle(time.Second)
		if _, err := g.NextContext(short()); !errors.Is(err, core.ErrNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("NextContext: %v", err)
		}
		f.Refuse(false)
		settle(5 * time.Second)
		f.Refuse(true)
		settle(time.Minute)
		if _, err := g.Fill(short(), make([]core.ID, 3)); !errors.Is(err, core.ErrWindowEnded) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Fill: %v", err)
		}
		for range 2 {
			_, _ = g.NextContext(short())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.NextContext(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("NextContext: %v", err)
		}
		if want := (core.ErrorCounts{NotStarted: 1, WindowEnded: 3, ContextEnded: 1}); g.Health().Errors != want {
			t.Errorf("counted is %+v, want %+v", g.Health().Errors, want)
		}
	})
}

// Without a logger, warnings go to the default one, and nothing else does.
func TestWarningsGoToTheDefaultLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keep, lines := journal()
		var cfg core.Config
		keep(&cfg)
		before := slog.Default()
		slog.SetDefault(cfg.Logger)
		defer slog.SetDefault(before)
		f := newFake(1)
		ahead(t, f, leaseConfig(nil).Layout, 5*time.Second)
		g := lease(t, f)
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := lines()
		if strings.Contains(got, "level=INFO") || !strings.Contains(got, "waiting for the issue window to open") || !strings.Contains(got, "the issue window is open") {
			t.Errorf("logged was\n%s", got)
		}
		quiet := lease(t, f, func(c *core.Config) { c.Logger = slog.New(slog.DiscardHandler) })
		quiet.fake.Refuse(true)
		settle(time.Minute)
		if lines() != got {
			t.Errorf("a silenced generator logged\n%s", strings.TrimPrefix(lines(), got))
		}
	})
}
