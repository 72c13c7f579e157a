package segment_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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

// wantLaterGroup checks that a call has the later group opened. The call itself gets the next
// number of the earlier group, or the first one of the later group if that is open by then.
func wantLaterGroup(t *testing.T, g *segment.Groups, earlier string, next int64, later string) {
	t.Helper()
	first := int64(1)
	switch d, n, err := g.Next(t.Context()); {
	case err == nil && d.Equal(day(t, later)) && n == 1:
		first = 2
	case err != nil || !d.Equal(day(t, earlier)) || n != next:
		safetytest.Unless(t, err).Fatalf("Next = %v, %d, %v; want %s, %d, or %s, 1", d, n, err, earlier,
			next, later)
	}
	synctest.Wait()
	wantGroup(t, g, later, first)
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

// clockless is a store without a clock.
type clockless struct {
	segment.Store
	segment.Creator
}

// TestGroups_WrongClockOpensNoGroup: a clock that is ten years ahead for some seconds opens no
// group while it differs from that of the store. The present group goes on, Health has a warning,
// and service is as before when the clocks agree, in the next month, too.
func TestGroups_WrongClockOpensNoGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		for what, s := range map[string]segment.Store{"a clock": store, "none": clockless{store, store}} {
			g := groups(t, s, segment.Monthly, nil)
			var ahead atomic.Int64
			g.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
			next := func(want string, warnings int) {
				t.Helper()
				first, _, err := g.Next(t.Context())
				h, _ := g.Health()
				if !first.Equal(day(t, want)) || err != nil || len(h.Warnings) != warnings {
					t.Errorf("with %s: %v, %v, warnings %q; want %s and %d", what, first, err, h.Warnings, want,
						warnings)
				}
			}
			month := time.Now().UTC().Format("2006-01") + "-01"
			next(month, 0)
			ahead.Store(int64(3660 * 24 * time.Hour))
			calls := store.Calls("now")
			for range 50 {
				next(month, 1)
				time.Sleep(100 * time.Millisecond)
			}
			if n := store.Calls("now") - calls; n > 6 {
				t.Errorf("with %s: the clock of the store was read %d times in 5 s", what, n)
			}
			ahead.Store(0)
			next(month, 0)
			ahead.Store(int64(23 * time.Hour)) // it is near enough
			time.Sleep(time.Until(day(t, month).AddDate(0, 1, 0)) - 22*time.Hour)
			next(day(t, month).AddDate(0, 1, 0).Format(time.DateOnly), 0)
			wantErr(t, "Close", g.Close(t.Context()), nil)
		}
	})
}

// TestGroups_DoubtWaitsForNobody: while the clock is wrong, the present group goes on at once,
// however slow the store is, also if it does not answer; who finds the clock wrong first waits for
// one answer.
func TestGroups_DoubtWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(1000)
		g := groups(t, store, segment.Monthly, nil)
		var ahead atomic.Int64
		g.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		wantGroup(t, g, "2000-01-01", 1)
		ahead.Store(int64(3660 * 24 * time.Hour))
		wantAll := func(within time.Duration) {
			t.Helper()
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var running sync.WaitGroup
			for range 4 {
				running.Go(func() {
					if first, _, err := g.Next(ctx); err != nil || !first.Equal(day(t, "2000-01-01")) {
						t.Errorf("Next = %v, %v", first, err)
					}
				})
			}
			running.Wait()
			if took := time.Since(began); took > within {
				t.Errorf("four calls at once took %v; want at most %v", took, within)
			}
		}
		store.Intercept(slow(1500 * time.Millisecond))
		wantAll(1500 * time.Millisecond)
		time.Sleep(2 * time.Second)
		wantAll(0)
		store.Intercept(func(context.Context, string, string, func() error) error {
			return errors.New("away")
		})
		time.Sleep(time.Minute)
		wantAll(0)
		store.Intercept(nil)
	})
}

// TestGroups_AlwaysNeedsNoClock: numbers that have no date are had with a wrong clock.
func TestGroups_AlwaysNeedsNoClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		store.SetClock(48 * time.Hour)
		wantGroup(t, groups(t, store, segment.Always, nil), "", 1)
	})
}

// TestGroups_WrongClockAtStart: no group is opened for a process that begins with a wrong clock.
func TestGroups_WrongClockAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Monthly, nil)
		for _, ahead := range []time.Duration{25 * time.Hour, -25 * time.Hour} {
			store.SetClock(ahead)
			_, _, err := g.Next(t.Context())
			wantErr(t, "Next", err, segment.ErrUnavailable)
			if !strings.Contains(fmt.Sprint(err), "set the clock") {
				t.Error(err)
			}
		}
		store.SetClock(time.Hour)
		wantGroup(t, g, "2000-01-01", 1)
	})
}

// TestGroups_MachineThatHasSlept: where a store has no clock, one that has gained three days on the
// monotonic clock, and stays so, opens the next group after ten minutes.
func TestGroups_MachineThatHasSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, clockless{store, store}, segment.Daily, nil)
		wantGroup(t, g, "2000-01-01", 1)
		g.SetClock(func() time.Time { return time.Now().AddDate(0, 0, 3) })
		for n := range int64(10) {
			wantGroup(t, g, "2000-01-01", n+2)
			time.Sleep(time.Minute)
		}
		wantLaterGroup(t, g, "2000-01-01", 12, "2000-01-04")
		time.Sleep(24 * time.Hour)
		wantGroup(t, g, "2000-01-05", 1)
	})
}

// TestGroups_DoubtEndsWithoutACall: a clock that was wrong, and was right again while no call came,
// is doubted for ten minutes when it is wrong again.
func TestGroups_DoubtEndsWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, clockless{store, store}, segment.Daily, nil)
		var ahead atomic.Int64 // days
		g.SetClock(func() time.Time { return time.Now().AddDate(0, 0, int(ahead.Load())) })
		wantGroup(t, g, "2000-01-01", 1)
		ahead.Store(3)
		wantGroup(t, g, "2000-01-01", 2)
		time.Sleep(time.Minute)
		ahead.Store(0)
		time.Sleep(time.Hour)
		ahead.Store(9)
		for n := range int64(5) {
			wantGroup(t, g, "2000-01-01", n+3)
			time.Sleep(2 * time.Second) // the clocks are compared meanwhile
		}
		time.Sleep(10 * time.Minute)
		wantLaterGroup(t, g, "2000-01-01", 8, "2000-01-10")
	})
}

// TestGroups_CloseBesideCalls: calls that wait for a store that does not answer return ErrClosed
// when the groups are closed. Close ends with its context, and none uses the store afterwards.
func TestGroups_CloseBesideCalls(t *testing.T) {
	next := func(g *segment.Groups) error {
		_, _, err := g.Next(context.Background())
		return err
	}
	past := func(g *segment.Groups) error {
		_, _, err := g.NextOn(context.Background(), time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))
		return err
	}
	for what, c := range map[string]struct {
		hangs  string
		opened bool // a group is open before
		call   func(*segment.Groups) error
	}{
		"the tag is read":                 {"tag", false, next},
		"the first range is taken":        {"take", false, next},
		"the tag of a past group is read": {"tag", true, past},
		"a number of it is taken":         {"take", true, past},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := fake(10)
			g := groups(t, store, segment.Daily, nil)
			if c.opened {
				wantGroup(t, g, "2000-01-01", 1)
			}
			var calls atomic.Int64
			counted := func(ctx context.Context, op, tag string, do func() error) error {
				calls.Add(1)
				defer calls.Add(-1)
				return hang(ctx, op, tag, do)
			}
			store.Intercept(only(c.hangs, counted))
			result := make(chan error, 1)
			go func() { result <- c.call(g) }()
			time.Sleep(time.Second)
			if calls.Load() == 0 {
				t.Errorf("%s: no call waits", what)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			_ = g.Close(ctx)
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("%s: Close took %v", what, took)
			}
			if n := calls.Load(); n != 0 {
				t.Errorf("%s: %d calls of the store outlive Close", what, n)
			}
			err := <-result
			if !errors.Is(err, segment.ErrClosed) || errors.Is(err, segment.ErrUnavailable) {
				t.Errorf("%s: the call returned %v", what, err)
			}
		})
	}
}

// TestGroups_NextOn: a late posting gets a number of its own group, of which no process holds any,
// also of groups that nobody has used; not of groups that have not begun or were pruned.
func TestGroups_NextOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake(10)
		g := groups(t, store, segment.Daily, nil)
		on := func(date string, want int64, cause error) {
			t.Helper()
			first, n, err := g.NextOn(t.Context(), day(t, date))
			if !errors.Is(err, cause) || n != want || err == nil && !first.Equal(day(t, date)) {
				safetytest.Unless(t, err).Errorf("on %s: %v, %d, %v; want %d, %v", date, first, n, err, want,
					cause)
			}
		}
		wantGroup(t, g, "2000-01-01", 1)
		on("2000-01-01", 2, nil)
		on("2000-01-02", 0, segment.ErrNotBegun)
		time.Sleep(40 * 24 * time.Hour)
		wantGroup(t, g, "2000-02-10", 1)
		synctest.Wait()
		on("2000-01-01", 3, nil)
		on("2000-02-10", 2, nil)
		for round := range int64(2) {
			for i := range 38 {
				on(day(t, "2000-01-02").AddDate(0, 0, i).Format(time.DateOnly), round+1, nil)
			}
		}
		if tag, err := store.Tag(t.Context(), "t.2000-01-02"); tag.Next != 3 || err != nil {
			safetytest.Unless(t, err).Errorf("the store has %+v, %v; want 3 next", tag, err)
		}
		if n, err := store.Prune(t.Context(), "t", day(t, "2000-02-01")); n != 31 || err != nil {
			t.Errorf("Prune: %d, %v", n, err)
		}
		on("1999-12-31", 0, segment.ErrPruned)
		on("2000-02-01", 3, nil)
		wantErr(t, "Close", g.Close(t.Context()), nil)
		on("2000-02-01", 0, segment.ErrClosed)
		_, _, err := groups(t, store, segment.Always, nil).NextOn(t.Context(), day(t, "2000-02-01"))
		wantErr(t, "without groups", err, segment.ErrNoGroups)
	})
}

// TestGroups_YearStart: a year that begins in April is named after the calendar year of that April.
func TestGroups_YearStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is January 2000
		store := fake(10)
		var created []segment.Tag
		g, err := segment.NewGroups(noting{store, &created}, "t", segment.Yearly, nil,
			segment.Config{YearStart: time.April})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close(t.Context())
		wantGroup(t, g, "1999-01-01", 1)
		time.Sleep(time.Until(day(t, "2000-04-01")) - time.Second)
		wantGroup(t, g, "1999-01-01", 2)
		time.Sleep(time.Second)
		wantGroup(t, g, "2000-01-01", 1)
		synctest.Wait() // the past year is given back
		first, n, err := g.NextOn(t.Context(), day(t, "2000-03-31"))
		if !first.Equal(day(t, "1999-01-01")) || n != 3 || err != nil {
			safetytest.Unless(t, err).Errorf("on March 31: %v, %d, %v", first, n, err)
		}
		// A clock that is a day ahead may have begun it a day early.
		if last := created[len(created)-1]; !last.Since.Equal(day(t, "2000-03-31")) {
			t.Errorf("%s was created with numbers since %v", last.Name, last.Since)
		}
	})
}

// noting notes the tags that are created.
type noting struct {
	*segmenttest.Fake
	created *[]segment.Tag
}

func (s noting) Create(ctx context.Context, t segment.Tag) error {
	*s.created = append(*s.created, t)
	return s.Fake.Create(ctx, t)
}

// TestGroupOf: the names of groups are told from those of other tags.
func TestGroupOf(t *testing.T) {
	for name, want := range map[string]string{
		"orders.2026": "orders 2027-12-01", "orders.2026-11": "orders 2026-12-01",
		"orders.2026-12-31": "orders 2027-01-01", "a.b.2024-02-29": "a.b 2024-03-01",
		"orders": "", "orders.26": "", "orders.2026-13": "", ".2026": "", "orders.2026-02-30": "",
		"orders.2026-1": "", "orders.20261": "", "": "",
	} {
		got := ""
		if tag, over, ok := segment.GroupOf(name); ok {
			got = tag + " " + over.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("GroupOf(%q) = %q; want %q", name, got, want)
		}
	}
}
