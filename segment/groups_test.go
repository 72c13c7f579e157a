package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// groups returns the groups of the tag t that are closed with the test.
func groups(tb testing.TB, store segment.Store, p segment.Period, zone *time.Location) *segment.Groups {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	g, err := segment.NewGroups(store, "t", p, zone, segment.Config{MaxStep: 10, MaxAge: 1500 * 24 * time.Hour, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	if err := g.Ready(within(tb)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// wantGroup takes the next number of a group.
func wantGroup(tb testing.TB, g *segment.Groups, first string, want int64) {
	tb.Helper()
	if d, n, err := g.Next(tb.Context()); !d.Equal(day(tb, first)) || n != want || err != nil {
		tb.Fatalf("Next = %s, %d, %v; want %s, %d", d.Format(time.DateOnly), n, err, first, want)
	}
}

// TestGroups: numbers begin again with each day, month or year, in rows that the program makes, and
// what is unused of a group that is past is given back.
func TestGroups(t *testing.T) {
	for p, want := range map[segment.Period][4]string{
		segment.Daily:   {"2000-01-01", "t.2000-01-01", "2000-01-31", "t.2000-01-31"},
		segment.Monthly: {"2000-01-01", "t.2000-01", "2000-02-01", "t.2000-02"},
		segment.Yearly:  {"2000-01-01", "t.2000", "2001-01-01", "t.2001"},
		segment.Always:  {"", "t", "", "t"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(7)
			g := groups(t, store, p, nil)
			for n := range int64(5) {
				wantGroup(t, g, want[0], n+1)
			}
			next, days := int64(1), map[segment.Period]int{segment.Daily: 30, segment.Monthly: 31, segment.Yearly: 366}[p]
			if days == 0 {
				next = 6
			}
			time.Sleep(time.Duration(days) * 24 * time.Hour)
			wantGroup(t, g, want[2], next)
			synctest.Wait()
			tags, err := store.Tags(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			there := map[string]segment.Tag{}
			for _, tag := range tags {
				there[tag.Name] = tag
			}
			if first, second := there[want[1]], there[want[3]]; p != segment.Always && (first.Next != 6 || second.Next < 8 || second.Step != 7 || there["t"].Next != 1) {
				t.Errorf("of period %d the store has %+v", p, tags)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if _, _, err := g.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("Next after Close: %v", err)
			}
			time.Sleep(400 * 24 * time.Hour)
			if _, _, err := g.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("Next in another group after Close: %v", err)
			}
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestZone: the date is that of the zone.
func TestZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight UTC
		store := fake(10)
		wantGroup(t, groups(t, store, segment.Yearly, time.FixedZone("west", -3600)), "1999-01-01", 1)
		wantGroup(t, groups(t, store, segment.Yearly, time.FixedZone("east", 3600)), "2000-01-01", 1)
	})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := groups(t, fake(10), segment.Monthly, berlin)
		time.Sleep((31+29)*24*time.Hour - 2*time.Hour)
		wantGroup(t, g, "2000-02-01", 1)
		time.Sleep(time.Hour) // 23:00 UTC
		wantGroup(t, g, "2000-03-01", 1)
	})
}

// TestStepsBack: with a clock that steps back over a border the later group goes on.
func TestStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := groups(t, fake(10), segment.Daily, nil)
		time.Sleep(24 * time.Hour)
		wantGroup(t, g, "2000-01-02", 1)
		if d, err := g.At(t.Context(), day(t, "2000-01-01")); err != nil || !d.Equal(day(t, "2000-01-02")) {
			t.Errorf("with an earlier clock it is %v, %v", d, err)
		}
		wantGroup(t, g, "2000-01-02", 2)
	})
}

// TestPastGroup: callers that have the past group in hand when it is closed take their numbers from
// the present one, and of all who come at the border one opens that.
func TestPastGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Daily, nil)
		store.Intercept(slow(time.Second)) // a past group waits for numbers, and is closed meanwhile
		var running sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]bool{}
		began := time.Now()
		for range 20 {
			running.Go(func() {
				for time.Since(began) < 49*time.Hour {
					d, n, err := g.Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					key := fmt.Sprint(d.Format(time.DateOnly), " ", n)
					mu.Lock()
					if seen[key] {
						t.Errorf("%s came twice", key)
					}
					seen[key] = true
					mu.Unlock()
					if until := time.Until(began.Add(24*time.Hour - time.Minute)); until > 0 {
						time.Sleep(until)
					} else if time.Since(began) > 24*time.Hour+time.Minute {
						time.Sleep(time.Hour)
					}
				}
			})
		}
		running.Wait()
		if n := store.Calls("create"); n != 3 {
			t.Errorf("%d rows were made for three days", n)
		}
	})
}

// TestGroupsEnd: a call ends with its context while another one waits for the store, and Close does
// not wait for that.
func TestGroupsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Daily, nil)
		var d down
		d.Store(true)
		store.Intercept(d.between)
		time.Sleep(24 * time.Hour)
		opening := make(chan error, 1)
		go func() { _, _, err := g.Next(context.Background()); opening <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := g.Next(ctx); !errors.Is(err, segment.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v", err)
		}
		_ = g.Close(t.Context())
		if err := <-opening; err == nil {
			t.Error("a group was opened after Close")
		}
	})
}

// TestBadGroups: what groups need is said.
func TestBadGroups(t *testing.T) {
	open := func(store segment.Store, tag string, p segment.Period, c segment.Config) error {
		g, err := segment.NewGroups(store, tag, p, nil, c)
		if err != nil {
			return err
		}
		defer g.Close(within(t))
		return g.Ready(within(t))
	}
	for what, c := range map[string]struct{ err, want error }{
		"no store":         {open(nil, "t", segment.Daily, segment.Config{}), segment.ErrInvalidConfig},
		"a period":         {open(fake(1), "t", 7, segment.Config{}), segment.ErrInvalidConfig},
		"a long tag":       {open(fake(1), strings.Repeat("t", 120), segment.Daily, segment.Config{}), segment.ErrInvalidConfig},
		"a setting":        {open(fake(1), "t", segment.Daily, segment.Config{Step: -1}), segment.ErrInvalidConfig},
		"an unknown tag":   {open(fake(1), "u", segment.Daily, segment.Config{}), segment.ErrUnknownTag},
		"no maker of tags": {open(struct{ segment.Store }{fake(1)}, "t", segment.Daily, segment.Config{}), segment.ErrUnknownTag},
		"nothing":          {open(fake(1), "t", segment.Daily, segment.Config{}), nil},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v; want %v", what, c.err, c.want)
		}
	}
}

// TestManyGroups: ten thousand groups leave neither memory nor goroutines behind.
func TestManyGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Daily, nil)
		use := func(days int) (heap uint64, goroutines int) {
			for range days {
				time.Sleep(24 * time.Hour)
				for n := range int64(5) {
					d, got, err := g.Next(t.Context())
					if got != n+1 || err != nil {
						t.Fatalf("%v: %d, %v; want %d", d, got, err, n+1)
					}
				}
				synctest.Wait()
				store.Delete("t." + time.Now().UTC().Format(time.DateOnly)) // what the store keeps is not asked about
			}
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc, runtime.NumGoroutine()
		}
		before, running := use(100)
		after, now := use(10_000)
		if grown := int64(after) - int64(before); grown > 500_000 || now > running+2 { // 50 bytes a group
			t.Errorf("after 10,000 groups %d bytes more are in use, and %d goroutines run; %d did before", grown, now, running)
		}
	})
}

func ExampleGroups() {
	ctx := context.Background()
	store := segmenttest.NewFake(segment.Tag{Name: "orders", Next: 1, Step: 100}) // segment.Open in a program
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	format, err := segment.ParseFormat("{YYYY-MM}-{n:6}")
	if err != nil {
		log.Fatal(err)
	}
	orders, err := segment.NewGroups(store, "orders", format.Period(), berlin, segment.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close(ctx)
	month, n, err := orders.Next(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	text, err := format.Text(month, n)
	fmt.Println(text[len("2026-11"):], err)
	// Output: -000001 <nil>
}

// TestGroupOfASlowStore: callers who have less time than the store takes for one call are served in the end.
func TestGroupOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(func(ctx context.Context, _, _ string, do func() error) error {
			select {
			case <-time.After(300 * time.Millisecond):
				return do()
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		g, err := segment.NewGroups(store, "t", segment.Monthly, nil, segment.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close(t.Context())
		for tries := 1; ; tries++ {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, n, err := g.Next(ctx)
			cancel()
			if err == nil && n == 1 {
				return
			}
			if !errors.Is(err, segment.ErrUnavailable) || tries > 50 {
				t.Fatalf("try %d: %d, %v", tries, n, err)
			}
		}
	})
}
