package protocol_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// tapped is a store whose calls are told to a function before they are made and after they
// were answered. An error that it returns is that of the call.
type tapped struct {
	memstore.Store
	tap func(call string, answered bool) error
	// refuse returns what a change is refused with, if it is not the zero Outcome.
	refuse func(protocol.Change) protocol.Outcome

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
	s, err := st.Store.Open(token, ttl, workers)
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

// told makes a call, and tells of it.
func told[T any](st *tapped, call string, f func() (T, error)) (answer T, err error) {
	if st.tap == nil {
		return f()
	}
	if err := st.tap(call, false); err != nil {
		return answer, err
	}
	if answer, err = f(); err == nil {
		err = st.tap(call, true)
	}
	return answer, err
}

func (s *tappedSession) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	return told(s.st, "survey", func() (*protocol.Survey, error) { return s.Session.Survey(ctx, ask) })
}

func (s *tappedSession) Look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	return told(s.st, "look", func() (*protocol.View, error) { return s.Session.Look(ctx, worker, token) })
}

func (s *tappedSession) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	return told(s.st, "commit", func() (protocol.Outcome, error) {
		if s.st.refuse != nil {
			if out := s.st.refuse(c); out.Damage != nil {
				return out, nil
			}
		}
		return s.Session.Commit(ctx, c)
	})
}

// tap returns a coordinator over a store that is tapped.
func tap(tb testing.TB, server *memstore.Server, c clock.Clock) (*protocol.Coordinator, *tapped) {
	tb.Helper()
	if c == nil {
		c = &shifted{}
	}
	st := &tapped{Store: memstore.Store{Server: server}}
	p, err := protocol.New(st, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: time.Second, Clock: c, Logger: slog.New(slog.DiscardHandler), ServerClock: server.Clock != nil,
	})
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

// wants returns a request as of now.
func wants(token string) coord.Request {
	now := space.Scale.Tick(time.Now().UnixMicro())
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: space.Fingerprint, Scale: space.Scale, LastTick: space.LastTick,
		Workers: coord.Range{Count: space.Capacity}, Capacity: space.Capacity, TTL: 60 * time.Second,
		Now: now, Until: now + 30_000, OpenBy: now,
	}
}

// TestSurveyFromBeforeANamespaceWasKnown: the first survey of a process is delayed. While it
// is under way, another call of the process makes the namespace, somebody deletes that,
// and then the survey arrives and makes it again. The process knows by then that it
// is not new.
func TestSurveyFromBeforeANamespaceWasKnown(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		hold := make(chan struct{})
		first := true
		st.tap = func(call string, answered bool) error {
			if call == "survey" && !answered && first {
				first = false
				<-hold
			}
			return nil
		}
		var late coord.Grant
		var lateErr error
		var done sync.WaitGroup
		done.Go(func() { late, lateErr = c.Acquire(t.Context(), wants("late")) })
		synctest.Wait()
		g, err := c.Acquire(t.Context(), wants("early"))
		if err != nil {
			t.Fatal(err)
		}
		server.Delete()
		close(hold)
		done.Wait()
		if lateErr != nil {
			t.Fatal(lateErr)
		}
		if late.WorkerID == g.WorkerID && late.NotBefore < g.NotAfter {
			t.Errorf("%v was granted although %v was, in a namespace that was deleted", late, g)
		}
		if late.NotBefore < g.NotAfter {
			t.Errorf("%v: nothing was noticed; %v was lost", late, g)
		}
	})
}

// TestResumedLeaseLastsAsLongAsAsked: a grant without its handle does not say how long its
// lease lasts, but the slot does.
func TestResumedLeaseLastsAsLongAsAsked(t *testing.T) {
	for name, renew := range map[string]func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error){
		"resume": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return c.Resume(ctx, g, "new", g.NotAfter+10_000)
		},
		"renew": func(ctx context.Context, c *protocol.Coordinator, g coord.Grant) (coord.Grant, error) {
			return c.Renew(ctx, g, g.NotAfter+10_000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				c, _ := tap(t, server, nil)
				g, err := c.Acquire(t.Context(), wants("old"))
				if err != nil {
					t.Fatal(err)
				}
				g.Handle = nil
				c, st := tap(t, server, nil) // another process
				if g, err = renew(t.Context(), c, g); err != nil {
					t.Fatal(err)
				}
				time.Sleep(40 * time.Second)
				living := st.living()
				if len(living) != 1 || living[0].ttl != 60*time.Second {
					t.Errorf("sessions after 40 s: %+v; want one that lasts 60 s", living)
				}
			})
		})
	}
}

// TestReopenedSessionHasRoom: a session that takes the place of one that has ended has room
// for as many worker IDs.
func TestReopenedSessionHasRoom(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		g, err := c.Acquire(t.Context(), wants("token"))
		if err != nil {
			t.Fatal(err)
		}
		st.living()[0].End()
		if _, err := c.Renew(t.Context(), g, g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
		g.Handle = nil
		if _, err := c.Resume(t.Context(), g, "next", g.NotAfter+1); err != nil {
			t.Fatal(err)
		}
		for _, o := range st.living() {
			if o.workers < space.Capacity {
				t.Errorf("a session has room for %d worker IDs; a loss is dealt with in it, which reads all %d", o.workers, space.Capacity)
			}
		}
	})
}

// TestDoubtIsNoSettlement: a process that lowers a floor which it has raised too far does not
// do away with what shows others that writes were lost.
func TestDoubtIsNoSettlement(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		far := &shifted{10 * time.Minute}
		p, st := tap(t, server, far)
		others := make([]*protocol.Coordinator, 2)
		grants := make([]coord.Grant, 2)
		var err error
		restore := server.Snapshot() // nothing
		g, err := p.Acquire(t.Context(), func() coord.Request {
			r := wants("p")
			r.Now += 600_000
			r.Until += 600_000
			r.OpenBy += 600_000
			return r
		}())
		if err != nil {
			t.Fatal(err)
		}
		restore()
		_ = p.Release(t.Context(), g, g.NotBefore) // raises the floor, with a wrong clock
		if server.Meta().Loss.Nonce == "" {
			t.Fatal("the loss was not noticed")
		}
		for i := range others {
			others[i], _ = tap(t, server, nil)
			if grants[i], err = others[i].Acquire(t.Context(), wants(string(rune('0'+i)))); err != nil {
				t.Fatal(err)
			}
		}
		restore = server.Snapshot()
		x, _ := tap(t, server, nil)
		lost, err := x.Acquire(t.Context(), wants("x"))
		if err != nil {
			t.Fatal(err)
		}
		restore()
		server.Move("b")
		// The process dies as soon as it has written something.
		dead := errors.New("dead")
		written := false
		st.tap = func(call string, answered bool) error {
			if written {
				return dead
			}
			written = call == "commit" && answered
			return nil
		}
		before := server.Meta()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.Acquire(ctx, wants("q"))
		t.Logf("%v; floor %d, was %d; lost %v", err, server.Meta().Floor, before.Floor, lost)
		fresh, _ := tap(t, server, nil)
		h, err := fresh.Acquire(t.Context(), wants("fresh"))
		if err != nil {
			t.Fatal(err)
		}
		if server.Meta().Loss.Nonce == before.Loss.Nonce {
			t.Errorf("nobody has noticed the loss of %v: granted was %v", lost, h)
		}
	})
}

// TestDoubtAfterALostRaise: the answer to the write that raises the floor is lost, and so the
// loss counts as not dealt with. The one who has raised it, with a wrong clock, lowers it
// all the same.
func TestDoubtAfterALostRaise(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		right := make([]*protocol.Coordinator, 2)
		grants := make([]coord.Grant, 2)
		var err error
		for i := range right {
			right[i], _ = tap(t, server, nil)
			if grants[i], err = right[i].Acquire(t.Context(), wants(string(rune('0'+i)))); err != nil {
				t.Fatal(err)
			}
		}
		restore := server.Snapshot()
		wrong, far := &shifted{}, 24*time.Hour
		p, st := tap(t, server, wrong)
		g, err := p.Acquire(t.Context(), wants("p"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		restore()
		wrong.by = far
		st.tap = func(call string, answered bool) error {
			if call == "commit" && answered && server.Meta().Floor > 0 {
				st.tap = nil
				return errors.New("the answer is lost")
			}
			return nil
		}
		if _, err := p.Renew(t.Context(), g, g.NotAfter+1); err == nil || st.tap != nil {
			t.Fatalf("Renew: %v", err)
		}
		high := server.Meta().Floor
		for i := range right {
			time.Sleep(time.Second)
			if _, err := right[i].Renew(t.Context(), grants[i], grants[i].NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
		}
		if server.Meta().Floor != high {
			t.Fatal("somebody else has lowered it")
		}
		req := wants("q")
		req.Now, req.Until = req.Now+far.Milliseconds(), req.Until+far.Milliseconds()
		if h, err := p.Acquire(t.Context(), req); !errors.Is(err, coord.ErrClockSkew) {
			t.Errorf("Acquire with a wrong clock: %v, %v", h, err)
		}
		if floor := server.Meta().Floor; floor > wants("").Now+200_000 || floor < g.NotAfter {
			t.Errorf("the floor is %d and was %d; now is %d", floor, high, wants("").Now)
		}
	})
}

type shifted struct{ by time.Duration }

func (s *shifted) UnixMicro() int64 { return time.Now().Add(s.by).UnixMicro() }

// TestRenewalsAtOnceOverSessionsThatEnd is for the race detector.
func TestRenewalsAtOnceOverSessionsThatEnd(t *testing.T) {
	server := memstore.NewServer("a")
	c, st := tap(t, server, nil)
	g, err := c.Acquire(t.Context(), wants("token"))
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 200 {
				_, _ = c.Renew(t.Context(), g, g.NotAfter+1)
				for _, o := range st.living() {
					o.End()
				}
			}
		})
	}
	done.Go(func() {
		for range 200 {
			_, _ = c.Acquire(t.Context(), wants("token"))
		}
	})
	done.Wait()
}

// TestDamagedSlotOfAnIdentity: what belongs to the slot that an identity had last is damaged.
// That is no reason to grant nothing.
func TestDamagedSlotOfAnIdentity(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		req := wants("first")
		req.Identity = "host"
		g, err := c.Acquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Release(t.Context(), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		damage, others := errors.New("damaged"), 0
		st.refuse = func(change protocol.Change) (out protocol.Outcome) {
			switch {
			case change.Slot.Worker == g.WorkerID:
				out = protocol.Outcome{Conflict: protocol.ConflictSlot, Damage: damage}
			case others == 0: // somebody is faster, so that there is a second round
				others++
				out = protocol.Outcome{Conflict: protocol.ConflictElsewhere, Damage: damage}
			}
			return out
		}
		req = wants("second")
		req.Identity = "host"
		req.OpenBy = req.Now + 100_000
		if h, err := c.Acquire(t.Context(), req); err != nil || h.WorkerID == g.WorkerID {
			t.Errorf("granted was %v, %v; want another worker ID than %d", h, err, g.WorkerID)
		}
	})
}

// TestListedNamespaceIsRemembered: who has looked at a namespace knows that it is not new.
func TestListedNamespaceIsRemembered(t *testing.T) {
	for name, look := range map[string]func(ctx context.Context, c *protocol.Coordinator) error{
		"list":    func(ctx context.Context, c *protocol.Coordinator) error { _, err := c.List(ctx); return err },
		"inspect": func(ctx context.Context, c *protocol.Coordinator) error { _, err := c.Inspect(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			inOurTime(t, func(t *testing.T) {
				server := memstore.NewServer("a")
				other, _ := tap(t, server, nil)
				lost, err := other.Acquire(t.Context(), wants("lost"))
				if err != nil {
					t.Fatal(err)
				}
				c, _ := tap(t, server, nil)
				if err := look(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				server.Delete()
				if g, err := c.Acquire(t.Context(), wants("token")); err != nil || g.NotBefore < lost.NotAfter {
					t.Errorf("%v, %v, in a namespace that was deleted, where %v was granted", g, err, lost)
				}
			})
		})
	}
}
