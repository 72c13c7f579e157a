package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// groups returns the groups of the tag t that are closed with the test.
func groups(
	tb testing.TB, store segment.Store, p segment.Period, zone *time.Location,
) *segment.Groups {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	config := segment.Config{MaxStep: 10, MaxAge: 1500 * 24 * time.Hour, Logger: quiet}
	g, err := segment.NewGroups(store, "t", p, zone, config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// wantGroup takes the next number of a group.
func wantGroup(tb testing.TB, g *segment.Groups, first string, want int64) {
	tb.Helper()
	if d, n, err := g.Next(tb.Context()); !d.Equal(day(tb, first)) || n != want || err != nil {
		safetytest.Unless(tb, err).Fatalf("Next = %v, %d, %v; want %s, %d", d, n, err, first, want)
	}
}

// TestGroups: numbers begin again with each day, month or year, in rows that the program makes, and
// what is unused of a group that is past is given back.
func TestGroups(t *testing.T) {
	for p, c := range map[segment.Period]struct {
		row  string // of the first group
		days time.Duration
		next string // the first day of the group after so many days
	}{
		segment.Daily:   {"t.2000-01-01", 30, "2000-01-31"},
		segment.Monthly: {"t.2000-01", 31, "2000-02-01"},
		segment.Yearly:  {"t.2000", 366, "2001-01-01"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(7)
			g := groups(t, store, p, nil)
			for n := range int64(5) {
				wantGroup(t, g, "2000-01-01", n+1)
			}
			time.Sleep(c.days * 24 * time.Hour)
			wantGroup(t, g, c.next, 1)
			synctest.Wait()
			for row, next := range map[string]int64{"t": 1, c.row: 6} {
				if tag, err := store.Tag(t.Context(), row); tag.Next != next || tag.Step != 7 || err != nil {
					safetytest.Unless(t, err).Errorf("period %d: the store has %+v, %v; want %d next", p, tag, err,
						next)
				}
			}
			wantErr(t, "Close, twice", errors.Join(g.Close(t.Context()), g.Close(t.Context())), nil)
			for _, later := range []time.Duration{0, 400 * 24 * time.Hour} {
				time.Sleep(later)
				_, _, err := g.Next(t.Context())
				wantErr(t, "Next after Close", err, segment.ErrClosed)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g := groups(t, fake(7), segment.Always, nil)
		wantGroup(t, g, "", 1)
		time.Sleep(400 * 24 * time.Hour)
		wantGroup(t, g, "", 2)
	})
}

// TestZone: the date is that of the zone.
func TestZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight UTC
		store := fake(10)
		wantGroup(t, groups(t, store, segment.Yearly, time.FixedZone("west", -3600)), "1999-01-01", 1)
		wantGroup(t, groups(t, store, segment.Yearly, time.FixedZone("east", 3600)), "2000-01-01", 1)
	})
}

// TestStepsBack: with a clock that steps back over a border the later group goes on.
func TestStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := groups(t, fake(10), segment.Daily, nil)
		time.Sleep(24 * time.Hour)
		wantGroup(t, g, "2000-01-02", 1)
		d, err := g.At(t.Context(), day(t, "2000-01-01"))
		if err != nil || !d.Equal(day(t, "2000-01-02")) {
			t.Errorf("with an earlier clock it is %v, %v", d, err)
		}
		wantGroup(t, g, "2000-01-02", 2)
	})
}

// TestPastGroup: callers that have the past group in hand when it is closed take their numbers from
// the present one, and of all who come at the border one opens that, also where processes have
// clocks that are seconds apart, which their zones are here.
func TestPastGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		var processes [3]*segment.Groups
		for i := range processes {
			processes[i] = groups(t, store, segment.Daily, time.FixedZone("ahead", i))
		}
		store.Intercept(slow(time.Second)) // a past group waits for numbers, and is closed meanwhile
		var running sync.WaitGroup
		var seen ledger
		began := time.Now()
		for i := range 21 {
			running.Go(func() {
				for time.Since(began) < 49*time.Hour {
					d, n, err := processes[i%3].Next(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					seen.note(t, fmt.Sprint(d, n))
					if until := time.Until(began.Add(24*time.Hour - time.Minute)); until > 0 {
						time.Sleep(until)
					} else if time.Since(began) > 24*time.Hour+time.Minute {
						time.Sleep(time.Hour)
					}
				}
			})
		}
		running.Wait()
		if tags, err := store.Tags(t.Context()); err != nil || len(tags) != 1+3 {
			t.Errorf("for three days there are %v, %v", tags, err)
		}
	})
}

// TestGroupsEnd: a call ends with its context while another one waits for the store, and Close does
// not wait for that.
func TestGroupsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Daily, nil)
		wantGroup(t, g, "2000-01-01", 1)
		store.Intercept(down)
		time.Sleep(24 * time.Hour)
		opening := make(chan error, 1)
		go func() { _, _, err := g.Next(context.Background()); opening <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := g.Next(ctx)
		wantErr(t, "Next", err, segment.ErrUnavailable)
		wantErr(t, "Next", err, context.DeadlineExceeded)
		_ = g.Close(t.Context())
		if err := <-opening; err == nil {
			t.Error("a group was opened after Close")
		}
	})
}

// TestBadGroups: what groups need is said.
func TestBadGroups(t *testing.T) {
	const daily = segment.Daily
	var plain, wrong segment.Config
	wrong.Step = -1
	store := fake(1)
	for _, c := range []struct {
		what   string
		store  segment.Store
		tag    string
		period segment.Period
		config segment.Config
		want   error
	}{
		{"no store", nil, "t", daily, plain, segment.ErrInvalidConfig},
		{"a period", store, "t", 7, plain, segment.ErrInvalidConfig},
		{"a long tag", store, strings.Repeat("t", 120), daily, plain, segment.ErrInvalidConfig},
		{"a setting", store, "t", daily, wrong, segment.ErrInvalidConfig},
		{"an unknown tag", store, "u", daily, plain, segment.ErrUnknownTag},
		{"no maker", struct{ segment.Store }{store}, "t", daily, plain, segment.ErrUnknownTag},
		{"nothing", store, "t", daily, plain, nil},
	} {
		g, err := segment.NewGroups(c.store, c.tag, c.period, nil, c.config)
		if err == nil {
			err = g.Ready(within(t))
			_ = g.Close(within(t))
		}
		wantErr(t, c.what, err, c.want)
	}
}

func ExampleGroups() {
	ctx := context.Background()
	// segment.Open in a program
	store := segmenttest.NewFake(segment.Tag{Name: "orders", Next: 1, Step: 100})
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

// TestGroupOfASlowStore: callers who have less time than the store takes for one call are served in
// the end.
func TestGroupOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.Intercept(slow(300 * time.Millisecond))
		g := groups(t, store, segment.Monthly, nil)
		err := segment.ErrUnavailable
		for tries := 0; errors.Is(err, segment.ErrUnavailable) && tries < 50; tries++ {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, _, err = g.Next(ctx)
			cancel()
		}
		wantErr(t, "Next", err, nil)
	})
}
