package scenarios

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

var clones = []stage.Scenario{{
	Number: 30, Name: "clone", About: "two processes are given the same grant, as copies of a running one have it: IDs are issued twice until one of them is told in its second renewal, as is documented",
	Backends: []string{"etcd", "etcd3", "embedded", "redis", "sentinel", "cluster", "zk", "zk3", "postgres", "mariadb", "kubernetes"},
	MinIDs:   2 * issuedEach, Budget: time.Minute,
	Short:            &stage.Short{MinIDs: 2 * issuedEach, Budget: time.Minute, Backends: []string{"etcd", "redis"}},
	ExpectDuplicates: true,
	Run:              runClone,
}}

// cloneScheme is the scheme of URLs whose coordinators answer their first Acquire with a grant that is part of the URL.
const cloneScheme = "faults-clone"

func init() { driver.Register(cloneScheme, openClone) }

// cloned returns a generator that begins with a grant that somebody else was given.
func cloned(s *stage.Stage, name string, g coord.Grant) worker.Generator {
	text, err := g.MarshalText()
	if err != nil {
		s.Fatal(err)
	}
	out := s.Generator(name)
	out.URL = fmt.Sprintf("%s://grant?text=%x&of=%x", cloneScheme, text, out.URL)
	return out
}

// openClone opens what a URL of cloned names.
func openClone(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
	text, err := hex.DecodeString(u.Option("text"))
	if err != nil {
		return nil, err
	}
	of, err := hex.DecodeString(u.Option("of"))
	if err != nil {
		return nil, err
	}
	var g coord.Grant
	if err := g.UnmarshalText(text); err != nil {
		return nil, err
	}
	c, err := coord.Open(ctx, string(of), coord.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return &clone{Coordinator: c, g: g}, nil
}

// clone is a coordinator whose first Acquire grants what was granted before. A generator checks that a grant has the
// token of its request, so that one stands for the grant's here.
type clone struct {
	coord.Coordinator
	once  sync.Once
	g     coord.Grant
	alias string // guarded by once
}

// Acquire implements [coord.Coordinator].
func (c *clone) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	first := false
	c.once.Do(func() { c.alias, first = req.Token, true })
	if first {
		return c.outward(c.g), nil
	}
	return c.Coordinator.Acquire(ctx, req)
}

// Renew implements [coord.Coordinator].
func (c *clone) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	g, err := c.Coordinator.Renew(ctx, c.inward(g), until)
	return c.outward(g), err
}

// Release implements [coord.Coordinator].
func (c *clone) Release(ctx context.Context, g coord.Grant, last int64) error {
	return c.Coordinator.Release(ctx, c.inward(g), last)
}

// outward returns a grant as the generator knows it, and inward as the back end does.
func (c *clone) outward(g coord.Grant) coord.Grant {
	if g.Token == c.g.Token {
		g.Token = c.alias
	}
	return g
}

func (c *clone) inward(g coord.Grant) coord.Grant {
	if g.Token == c.alias {
		g.Token = c.g.Token
	}
	return g
}

// Describe implements [coord.Describer].
func (c *clone) Describe() coord.Description {
	return coord.Description{Rules: coord.Describe(c.Coordinator).Rules}
}

// runClone gives two processes one grant, lets both issue and renew, and ends one of them.
func runClone(s *stage.Stage) {
	g := granted(s)
	s.Logf("both are given %v", g)
	one, two := s.Worker("one", cloned(s, "one", g)), s.Worker("two", cloned(s, "two", g))
	for _, w := range []*worker.Worker{one, two} {
		if id := held(s, w); id != g.WorkerID {
			s.Errorf("process %d has worker ID %d; want %d, which it was given", w.PID(), id, g.WorkerID)
		}
		s.AwaitIssued(w, issuedEach)
	}
	// One of them is told, and goes on with another worker ID.
	for !told(one) && !told(two) {
		s.Sleep(stage.RenewalTime / 10)
	}
	s.Sleep(cloneTime)
	if told(one) && told(two) {
		s.Errorf("both were told that there is a copy of them; one of them holds the worker ID")
	}
	shared := exposure(s, one, two)
	s.Logf("the last IDs that both have issued are %v younger than the second one's first", shared)
	if limit := 2*stage.RenewalTime + busyTime; shared > limit {
		s.Errorf("both have issued the same IDs for %v; want at most %v", shared, limit)
	}
	two.Kill()
	for _, w := range []*worker.Worker{one, two} {
		for _, e := range w.Events() {
			if e.Kind == worker.Change || e.Kind == worker.Failed {
				s.Logf("process %d told of %s: %s", w.PID(), e.Kind, e.Text)
			}
		}
	}
	s.Sleep(s.TTL() + stage.Horizon)
	s.Recovered(journal.Now(), one)
	s.AwaitIssued(one, one.Issued()+issuedEach)
}

// told reports whether a worker was told that its lease is lost.
func told(w *worker.Worker) bool {
	return slices.ContainsFunc(w.Events(), func(e worker.Event) bool { return e.Is(worker.Change, worker.LeaseLost) })
}

// cloneTime is how long both go on: both renew several times.
const cloneTime = 3 * stage.RenewalTime

// exposure returns for how long two workers have issued the same IDs, by the times of the second one.
func exposure(s *stage.Stage, one, two *worker.Worker) time.Duration {
	seen := map[core.ID]bool{}
	eachRun(s, one, func(run journal.Run) { seen[run.First] = true })
	var first, last int64
	eachRun(s, two, func(run journal.Run) {
		if first == 0 || run.From < first {
			first = run.From
		}
		if seen[run.First] {
			last = max(last, run.From)
		}
	})
	return time.Duration(max(last-first, 0)).Round(time.Millisecond)
}

// granted returns a grant that nobody uses yet.
func granted(s *stage.Stage) coord.Grant {
	s.Init(s.Backend.URL(), "")
	c, err := coord.Open(s.Context(), s.Generator("granted").URL, coord.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	sp := core.DefaultLayout().Space()
	now := sp.Scale.Tick(time.Now().UnixMicro())
	g, err := c.Acquire(s.Context(), coord.Request{
		Token: rand.Text(), Holder: "scenario", Fingerprint: sp.Fingerprint, Scale: sp.Scale, LastTick: sp.LastTick,
		Workers: coord.Range{Count: sp.Capacity}, Capacity: sp.Capacity, TTL: s.TTL(),
		Now: now, Until: now + stage.Horizon.Milliseconds(), OpenBy: now,
	})
	if err != nil {
		s.Fatal(err)
	}
	return g
}
