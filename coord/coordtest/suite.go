package coordtest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// Harness connects the suite with a driver and its back end. The function that
// makes it is called once for each case and gives an empty namespace every time,
// which need not wait out a quarantine. Everything is torn down with tb.Cleanup.
//
// What a back end cannot do is left nil; the cases that need it are skipped, and
// say so.
type Harness struct {
	// Client returns a new participant, as another process would be: with a
	// connection of its own, on the namespace of this harness. Share is the worker IDs
	// that it will ask for, for drivers that have to be told beforehand; the requests
	// name it too. The suite closes what Client returns.
	Client func(tb testing.TB, share coord.Range) coord.Coordinator
	// OtherNamespace is Client for a second, empty namespace of the same back end.
	OtherNamespace func(tb testing.TB, share coord.Range) coord.Coordinator
	// Crash makes c a process that died without releasing g: when Crash returns, the
	// lease of g is over. The suite does not use c again. Nil: Expire is used.
	Crash func(tb testing.TB, c coord.Coordinator, g coord.Grant)
	// Expire ends the lease of g, as a long pause of its holder would, and returns
	// when it is over. The holder and its connection live on. Nil: leases do not
	// expire.
	Expire func(tb testing.TB, g coord.Grant)
	// RaiseFloor raises the floor of the namespace to a tick. Nil: there is no floor.
	RaiseFloor func(tb testing.TB, tick int64)
	// Sticky says that an identity gets its last worker ID back.
	Sticky bool
}

// suite is the run of one case.
type suite struct {
	testing.TB
	h       Harness
	now     int64 // the tick at the start of the case
	horizon int64 // ticks
	ttl     time.Duration
	// timeout is for what should happen at once. No case that passes waits for it
	// to end.
	timeout time.Duration
}

// testCase is one rule, or one way to break it.
type testCase struct {
	name string
	// needs says what the harness must have beyond Client; see skipReason.
	needs need
	run   func(s *suite)
}

type need int

const (
	needCrash need = 1 << iota // a holder that dies: Crash or Expire
	needExpire
	needFloor
	needOther
	needSticky
)

// layoutA and layoutB are fingerprints. The suite does not read them.
const (
	layoutA = "41/10/12/1ms/2024-01-01T00:00:00Z"
	layoutB = "40/10/13/1ms/2024-01-01T00:00:00Z"

	capacity = 1024
	lastTick = 1<<41 - 1

	// callTimeout is for a back end that hangs.
	callTimeout = 30 * time.Second
)

// scale is that of the layouts.
var scale = clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}

// tickNow is the tick that the present is in.
func tickNow() int64 { return scale.Tick(time.Now().UnixMicro()) }

// cases are all cases of the suite, in order.
func cases() []testCase {
	return slices.Concat(acquireCases, openCases, renewCases, releaseCases, floorCases, resumeCases,
		floorsOf("Renewal", needFloor, renewing), floorsOf("Resumption", needFloor|needCrash, resuming),
		handleCases, callCases)
}

// Run holds a driver to the rules of package coord, each case with a harness of
// its own, as a sub-test. Cases that the harness cannot serve are skipped with the
// reason, and counted in the log.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	skipped := 0
	for _, tc := range cases() {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					skipped++
				}
			}()
			runCase(t, tc, newHarness, callTimeout)
		})
	}
	t.Logf("conformance: %d cases, %d of them skipped", len(cases()), skipped)
}

// runCase runs one case on tb. Patience is how long it waits for what should happen
// at once.
func runCase(tb testing.TB, tc testCase, newHarness func(tb testing.TB) Harness,
	timeout time.Duration,
) {
	tb.Helper()
	h := newHarness(tb)
	if why := skipReason(h, tc.needs); why != "" {
		tb.Skipf("skipped: %s", why)
	}
	s := &suite{TB: tb, h: h, now: tickNow(), timeout: timeout}
	var err error
	if s.ttl, s.horizon, err = leaseTimes(s.client(1).Coordinator); err != nil {
		tb.Fatalf("lease times of the driver: %v", err)
	}
	tc.run(s)
}

func skipReason(h Harness, n need) string {
	switch {
	case n&needCrash != 0 && h.Crash == nil && h.Expire == nil:
		return "a holder cannot be made to die (Harness.Crash and Harness.Expire are nil)"
	case n&needExpire != 0 && h.Expire == nil:
		return "leases of this back end do not expire while the holder lives (Harness.Expire is nil)"
	case n&needFloor != 0 && h.RaiseFloor == nil:
		return "this back end has no floor (Harness.RaiseFloor is nil)"
	case n&needOther != 0 && h.OtherNamespace == nil:
		return "there is no second namespace (Harness.OtherNamespace is nil)"
	case n&needSticky != 0 && !h.Sticky:
		return "this driver does not prefer an identity's last worker ID (Harness.Sticky is false)"
	}
	return ""
}

// leaseTimes returns a TTL that the driver accepts, and a horizon of which it
// accepts three in a row.
func leaseTimes(c coord.Coordinator) (time.Duration, int64, error) {
	rules := coord.Describe(c).Rules
	l, err := driver.ResolveLease(rules, coord.LeaseConfig{})
	if err != nil {
		return 0, 0, err
	}
	horizon := 10 * time.Second
	if m := rules.MaxHorizon; m != 0 {
		horizon = min(horizon, m/3)
	}
	return l.TTL, max(scale.TicksDown(horizon.Microseconds()), 100), nil
}

// party is a participant together with the share that it asks for.
type party struct {
	coord.Coordinator
	share coord.Range
}

// client returns a participant that asks for the worker IDs 0 to n-1.
func (s *suite) client(n int) party { return s.sharer(0, n) }

// sharer returns a participant that asks for count worker IDs from first on.
func (s *suite) sharer(first, count int) party {
	s.Helper()
	share := coord.Range{First: first, Count: count}
	c := s.h.Client(s.TB, share)
	s.Cleanup(func() { _ = c.Close() })
	return party{c, share}
}

// request returns a request of p with a new token and a window of one horizon from the
// start of the case on. What it says of the clock is true: on a slow machine the case may
// have begun long ago, and a driver that compares clocks must not take that for skew.
func (s *suite) request(p party) coord.Request {
	return coord.Request{
		Token: rand.Text(), Holder: "coordtest", Fingerprint: layoutA, Scale: scale,
		LastTick: lastTick,
		Workers:  p.share, Capacity: capacity, TTL: s.ttl,
		Now: tickNow(), Until: s.now + s.horizon, OpenBy: s.now, Ahead: 5,
	}
}

// ctx returns a context that ends with the case, or when the back end hangs.
func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), s.timeout)
	s.Cleanup(cancel)
	return ctx
}

// holder returns a participant that has been granted the only worker ID it asks for.
func (s *suite) holder() (party, coord.Grant) {
	s.Helper()
	p := s.client(1)
	return p, s.acquire(p)
}

// acquire acquires with a new token; it must succeed.
func (s *suite) acquire(p party) coord.Grant {
	s.Helper()
	return s.acquireWith(p, s.request(p))
}

// acquireWith acquires with req; it must succeed, and the grant must be sound.
func (s *suite) acquireWith(p party, req coord.Request) coord.Grant {
	s.Helper()
	g, err := p.Acquire(s.ctx(), req)
	if err != nil {
		s.Fatalf("Acquire: %v", err)
	}
	share := req.Workers
	switch {
	case g.WorkerID < share.First || g.WorkerID >= share.First+share.Count:
		s.Fatalf("Acquire granted %v, outside the share %v", g, share)
	case g.Token != req.Token:
		s.Fatalf("Acquire granted token %q for token %q", g.Token, req.Token)
	case g.Generation == 0:
		s.Fatalf("Acquire granted generation 0; it starts at 1")
	case g.NotBefore > g.NotAfter:
		s.Fatalf("Acquire granted %v, which ends before it begins", g)
	}
	return g
}

// renew renews g; it must succeed and be the same lease.
func (s *suite) renew(p party, g coord.Grant, until int64) coord.Grant {
	s.Helper()
	r, err := p.Renew(s.ctx(), g, until)
	if err != nil {
		s.Fatalf("Renew of %v until %d: %v", g, until, err)
	}
	if r.WorkerID != g.WorkerID || r.Generation != g.Generation || r.Token != g.Token {
		s.Fatalf("Renew of %v returned another lease: %v", g, r)
	}
	if r.NotBefore > r.NotAfter || r.NotBefore < g.NotBefore {
		s.Fatalf("Renew of %v until %d returned %v", g, until, r)
	}
	return r
}

// release releases g; it must succeed.
func (s *suite) release(p party, g coord.Grant, last int64) {
	s.Helper()
	if err := p.Release(s.ctx(), g, last); err != nil {
		s.Fatalf("Release of %v at %d: %v", g, last, err)
	}
}

// crash ends the life of p without a release of g.
func (s *suite) crash(p party, g coord.Grant) {
	s.Helper()
	if s.h.Crash != nil {
		s.h.Crash(s.TB, p.Coordinator, g)
		return
	}
	s.h.Expire(s.TB, g)
}

// wantErr checks that err is the target.
func (s *suite) wantErr(what string, err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Fatalf("%s: error is %v; want %v", what, err, target)
	}
}

// wantFull checks that p gets no worker ID.
func (s *suite) wantFull(what string, p party) {
	s.Helper()
	_, err := p.Acquire(s.ctx(), s.request(p))
	s.wantErr(what, err, coord.ErrNoWorkerID)
}

// wantSame checks that two grants say the same; the handle is the driver's own.
func (s *suite) wantSame(what string, got, want coord.Grant) {
	s.Helper()
	if got, want = withoutHandle(got), withoutHandle(want); got != want {
		s.Fatalf("%s: %v; want %v", what, got, want)
	}
}

// wantWindow checks the window of g.
func (s *suite) wantWindow(what string, g coord.Grant, from, until int64) {
	s.Helper()
	if g.NotBefore != from || g.NotAfter != until {
		s.Fatalf("%s: %v; want the window (%d, %d]", what, g, from, until)
	}
}

// wantAfter checks that g begins at or above tick, and is a later grant.
func (s *suite) wantAfter(what string, g, predecessor coord.Grant, tick int64) {
	s.Helper()
	if g.NotBefore < tick {
		s.Fatalf("%s: %v begins below %d, where its predecessor's window ends", what, g, tick)
	}
	if g.Generation <= predecessor.Generation {
		s.Fatalf("%s: %v has no higher generation than %v", what, g, predecessor)
	}
}

// wantNext acquires the only worker ID after g, of which all up to a tick may be used.
func (s *suite) wantNext(what string, g coord.Grant, tick int64) coord.Grant {
	s.Helper()
	next := s.acquire(s.client(1))
	s.wantAfter("Acquire after "+what, next, g, tick)
	return next
}

// wantOut checks that a grant can neither be renewed nor released.
func (s *suite) wantOut(who string, p party, g coord.Grant) {
	s.Helper()
	_, err := p.Renew(s.ctx(), g, s.now+3*s.horizon)
	s.wantErr("Renew by "+who, err, coord.ErrLeaseLost)
	s.wantErr("Release by "+who, p.Release(s.ctx(), g, g.NotBefore), coord.ErrLeaseLost)
}
