package protocol_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// tapped is a store whose calls are told to a function before they are made and after they
// were answered. An error that it returns is that of the call.
type tapped struct {
	*memstore.Server
	tap func(call string, answered bool) error
	// refuse returns what a change is refused with, if it is not the zero Outcome.
	refuse func(protocol.Change) protocol.Outcome
	clock  protocol.ServerClock // of the process, as answers tell it
	// blind is called in place of reading leases, of which none is seen then.
	blind func()

	mu     sync.Mutex
	opened []opened
}

// opened is what a session was opened with.
type opened struct {
	token   string
	ttl     time.Duration
	workers int
	*tappedSession
}

// Open implements protocol.Store.
func (st *tapped) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := st.Server.Open(token, ttl, workers)
	t := &tappedSession{s, st}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.opened = append(st.opened, opened{token, ttl, workers, t})
	return t, err
}

// living returns the sessions that were not ended.
func (st *tapped) living() (living []opened) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, o := range st.opened {
		if o.Over() == nil {
			living = append(living, o)
		}
	}
	return living
}

type tappedSession struct {
	protocol.Session
	st *tapped
}

// told makes a call, unless its context ends before, and tells of it.
func told[T any](ctx context.Context, st *tapped, call string,
	f func() (T, error),
) (answer T, err error) {
	sent := lifetime.Now()
	if st.tap != nil {
		if err := cmp.Or(st.tap(call, false), ctx.Err()); err != nil {
			return answer, err
		}
	}
	if answer, err = f(); err == nil && st.tap != nil {
		err = st.tap(call, true)
	}
	if reading := readingOf(answer); err == nil && reading != (protocol.Span{}) {
		st.clock.Note(reading, sent)
	}
	return answer, err
}

// readingOf returns what the back end's clock said when it made an answer; zero: it does not tell.
func readingOf(answer any) (server protocol.Span) {
	switch a := answer.(type) {
	case *protocol.Survey:
		server = a.Server
	case *protocol.View:
		server = a.Server
	case *protocol.Listing:
		server = a.Server
	case protocol.Outcome:
		server = a.Server
	}
	return server
}

// Time implements protocol.Session.
func (s *tappedSession) Time() protocol.Span { return s.st.clock.Time() }

func (s *tappedSession) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	return told(ctx, s.st, "survey", func() (*protocol.Survey, error) {
		return s.Session.Survey(ctx, ask)
	})
}

func (s *tappedSession) Leases(ctx context.Context, holders []protocol.Holder) []protocol.Lease {
	if s.st.blind == nil {
		return s.Session.Leases(ctx, holders)
	}
	s.st.blind()
	return nil
}

// WatchFree implements protocol.FreeWatcher.
func (s *tappedSession) WatchFree(ctx context.Context, share coord.Range) bool {
	return s.Session.(protocol.FreeWatcher).WatchFree(ctx, share)
}

func (s *tappedSession) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	return told(ctx, s.st, "list", func() (*protocol.Listing, error) {
		return s.Session.List(ctx, slots)
	})
}

func (s *tappedSession) Look(ctx context.Context, worker int,
	token string,
) (*protocol.View, error) {
	return told(ctx, s.st, "look", func() (*protocol.View, error) {
		return s.Session.Look(ctx, worker, token)
	})
}

func (s *tappedSession) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	return told(ctx, s.st, "commit", func() (protocol.Outcome, error) {
		if s.st.refuse != nil {
			if out := s.st.refuse(c); out != (protocol.Outcome{}) {
				return out, nil
			}
		}
		return s.Session.Commit(ctx, c)
	})
}

// tap returns a coordinator over a store that is tapped.
func tap(tb testing.TB, server *memstore.Server, c clock.Clock,
	set ...func(*protocol.Settings),
) (*protocol.Coordinator, *tapped) {
	tb.Helper()
	if c == nil {
		c = &shifted{}
	}
	st := &tapped{Server: server}
	settings := protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second,
		MaxHorizon: 2 * time.Minute,
		SkewBound:  time.Second, Clock: c, Logger: slog.New(slog.DiscardHandler),
		ServerClock: server.Clock != nil,
	}
	for _, change := range set {
		change(&settings)
	}
	p, err := protocol.New(st, settings)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p, st
}

// inOurTime is synctest.Test after the epoch of the layout.
func inOurTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26 * 366 * 24 * time.Hour)
		f(t)
	})
}

// runInOurTime is a sub-test in such a time.
func runInOurTime(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inOurTime(t, f) })
}

// process is the coordinator of one that has seen nothing yet.
func process(tb testing.TB, server *memstore.Server) *protocol.Coordinator {
	tb.Helper()
	p, _ := tap(tb, server, nil)
	return p
}

// mustAcquire returns what a request is granted.
func mustAcquire(tb testing.TB, c *protocol.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// mustRenew returns a grant that is extended by some ticks.
func mustRenew(tb testing.TB, c *protocol.Coordinator, g coord.Grant, by int64) coord.Grant {
	tb.Helper()
	r, err := c.Renew(tb.Context(), g, g.NotAfter+by)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// notices has a holder renew, which finds that writes were lost.
func notices(tb testing.TB, c *protocol.Coordinator, g coord.Grant) {
	tb.Helper()
	if _, err := c.Renew(tb.Context(), g, g.NotAfter+1); err != nil &&
		!errors.Is(err, coord.ErrQuarantined) && !errors.Is(err, coord.ErrLeaseLost) {
		tb.Fatal(err)
	}
}

// within is a request for a share of the worker IDs.
func within(token string, share coord.Range) coord.Request {
	r := wants(token)
	r.Workers = share
	return r
}

// errNoAnswer is the error of calls that are made to fail.
var errNoAnswer = errors.New("no answer")

// failing has calls of a kind fail.
func failing(kind string) func(call string, answered bool) error {
	return func(call string, _ bool) error {
		if call == kind {
			return errNoAnswer
		}
		return nil
	}
}

// wants returns a request as of now, and wantsIn one in another layout.
func wants(token string) coord.Request { return wantsIn(space, token) }

func wantsIn(space coord.Space, token string) coord.Request {
	now := space.Scale.Tick(time.Now().UnixMicro())
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: space.Fingerprint, Scale: space.Scale,
		LastTick: space.LastTick,
		Workers:  coord.Range{Count: space.Capacity}, Capacity: space.Capacity, TTL: 60 * time.Second,
		Now: now, Until: now + 30_000, OpenBy: now,
	}
}

type shifted struct{ by time.Duration }

func (s *shifted) UnixMicro() int64 { return time.Now().Add(s.by).UnixMicro() }
