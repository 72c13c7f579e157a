package coordtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
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
	run  func(s *suite)
}

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
		floorsOf("Renewal", renewing), floorsOf("Resumption", resuming), handleCases, callCases)
}

// Run holds a driver to the rules of package coord, each case with a harness of
// its own, as a sub-test. Cases that the harness cannot serve are skipped with the
// reason, and counted in the log.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	runCases(t, cases(), newHarness)
}

// RunAdmin holds a driver to the rules of [coord.AdminCoordinator], which its coordinators
// implement. Each case has a harness of its own, of which Client alone is used. Its namespace must
// not even be declared.
func RunAdmin(t *testing.T, newHarness func(tb testing.TB) Harness) {
	runCases(t, adminCases, newHarness)
}

func runCases(t *testing.T, all []testCase, newHarness func(tb testing.TB) Harness) {
	skipped := 0
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					skipped++
				}
			}()
			runCase(t, tc, newHarness(t), callTimeout)
		})
	}
	t.Logf("conformance: %d cases, %d of them skipped", len(all), skipped)
}

// runCase runs one case on tb. Timeout is how long it waits for what should happen
// at once.
func runCase(tb testing.TB, tc testCase, h Harness, timeout time.Duration) {
	s := &suite{TB: tb, h: h, now: tickNow(), timeout: timeout}
	s.setLeaseTimes()
	tc.run(s)
}

// need skips the case where there is not what it needs.
func (s *suite) need(there bool, otherwise string) {
	s.Helper()
	if !there {
		s.Skip("skipped: " + otherwise)
	}
}

// needExpire is for cases in which two participants have one lease, too.
func (s *suite) needExpire() {
	s.Helper()
	s.need(s.h.Expire != nil,
		"leases of this back end do not expire while the holder lives (Harness.Expire is nil)")
}

// expire ends the lease of g.
func (s *suite) expire(g coord.Grant) {
	s.Helper()
	s.needExpire()
	s.h.Expire(s.TB, g)
}

func (s *suite) raiseFloor(tick int64) {
	s.Helper()
	s.need(s.h.RaiseFloor != nil, "this back end has no floor (Harness.RaiseFloor is nil)")
	s.h.RaiseFloor(s.TB, tick)
}

// at is the tick so many horizons after the start of the case.
func (s *suite) at(horizons float64) int64 { return s.now + int64(horizons*float64(s.horizon)) }

// setLeaseTimes takes a TTL that the driver accepts, and a horizon of which it
// accepts three in a row.
func (s *suite) setLeaseTimes() {
	s.Helper()
	rules := coord.Describe(s.client(1).Coordinator).Rules
	l, err := rules.Resolve(coord.LeaseConfig{})
	if err != nil {
		s.Fatalf("lease times of the driver: %v", err)
	}
	const most = 10 * time.Second
	horizon := min(most, cmp.Or(rules.MaxHorizon/3, most))
	s.ttl, s.horizon = l.TTL, max(scale.TicksDown(horizon.Microseconds()), 100)
}

// party is a participant together with the share that it asks for. What is done through it must
// succeed.
type party struct {
	*suite
	coord.Coordinator
	share coord.Range
}

// client returns a participant that asks for the worker IDs 0 to n-1.
func (s *suite) client(n int) party { return s.sharer(0, n) }

// sharer returns a participant that asks for count worker IDs from first on.
func (s *suite) sharer(first, count int) party {
	s.Helper()
	return s.join(s.h.Client, coord.Range{First: first, Count: count})
}

func (s *suite) join(client func(testing.TB, coord.Range) coord.Coordinator,
	share coord.Range,
) party {
	s.Helper()
	c := client(s.TB, share)
	s.Cleanup(func() { _ = c.Close() })
	return party{s, c, share}
}

// request returns a request of p with a new token and a window of one horizon from the
// start of the case on. What it says of the clock is true: on a slow machine the case may
// have begun long ago, and a driver that compares clocks must not take that for skew.
func (p party) request() coord.Request {
	return coord.Request{
		Token: rand.Text(), Holder: "coordtest", Fingerprint: layoutA, Scale: scale,
		LastTick: lastTick,
		Workers:  p.share, Capacity: capacity, TTL: p.ttl,
		Now: tickNow(), Until: p.at(1), OpenBy: p.now, Ahead: 5,
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
	return p, p.acquire()
}

// acquire acquires with a new token.
func (p party) acquire() coord.Grant {
	p.Helper()
	return p.acquireWith(p.request())
}

// acquireWith acquires with req; the grant must be sound.
func (p party) acquireWith(req coord.Request) coord.Grant {
	p.Helper()
	req.Now = tickNow() // servers that were slow since the request was made do not count
	g, err := p.Acquire(p.ctx(), req)
	n := g.WorkerID - req.Workers.First
	if err != nil || n < 0 || n >= req.Workers.Count || g.Token != req.Token || g.Generation == 0 ||
		g.NotBefore > g.NotAfter {
		safetytest.Unless(p, err).Fatalf("Acquire granted %s, %v; want one of the share %v, with token "+
			"%q, a generation from 1 on, and a window that does not end before it begins", named(g), err,
			req.Workers, req.Token)
	}
	return g
}

// renew renews g; it must be the same lease.
func (p party) renew(g coord.Grant, until int64) coord.Grant {
	p.Helper()
	r, err := p.Renew(p.ctx(), g, until)
	return p.extended(r, err, g, until)
}

// extended checks what came of extending g.
func (p party) extended(r coord.Grant, err error, g coord.Grant, until int64) coord.Grant {
	p.Helper()
	if err != nil || r.WorkerID != g.WorkerID || r.Generation != g.Generation || r.Token != g.Token ||
		r.NotBefore > r.NotAfter || r.NotBefore < g.NotBefore {
		safetytest.Unless(p, err).Fatalf("an extension until %d returned %s, %v; want %s, which does "+
			"not begin before, or end before it begins", until, named(r), err, named(g))
	}
	return r
}

// release releases g.
func (p party) release(g coord.Grant, last int64) {
	p.Helper()
	if err := p.Release(p.ctx(), g, last); err != nil {
		p.Fatalf("Release of %v at %d: %v", g, last, err)
	}
}

// crash ends the life of p without a release of g.
func (p party) crash(g coord.Grant) {
	p.Helper()
	if p.h.Crash != nil {
		p.h.Crash(p.TB, p.Coordinator, g)
		return
	}
	p.need(p.h.Expire != nil,
		"a holder cannot be made to die (Harness.Crash and Harness.Expire are nil)")
	p.expire(g)
}

// dies ends the life of p, and checks that whoever comes next is granted what is after g.
func (p party) dies(g coord.Grant) {
	p.Helper()
	p.crash(g)
	p.wantNext(g, g.NotAfter)
}

// wantErr checks that err is the target.
func (s *suite) wantErr(what string, err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		safetytest.Unless(s, err).Fatalf("%s: error is %v; want %v", what, err, target)
	}
}

// wantNotGranted checks the error of an acquisition.
func (p party) wantNotGranted(what string, req coord.Request, target error) {
	p.Helper()
	_, err := p.Acquire(p.ctx(), req)
	p.wantErr("Acquire "+what, err, target)
}

// wantNotRenewed checks the error of a renewal for as long as can be.
func (p party) wantNotRenewed(g coord.Grant, target error) {
	p.Helper()
	_, err := p.Renew(p.ctx(), g, p.at(3))
	p.wantErr("Renew of "+named(g), err, target)
}

// named is a grant with its token, by which it is another one than that of another holder.
func named(g coord.Grant) string { return fmt.Sprintf("%v with token %q", g, g.Token) }

// wantNotReleased checks the error of a release.
func (p party) wantNotReleased(g coord.Grant, target error) {
	p.Helper()
	p.wantErr("Release of "+named(g), p.Release(p.ctx(), g, g.NotBefore), target)
}

// wantOut checks that a grant can neither be renewed nor released.
func (p party) wantOut(g coord.Grant) {
	p.Helper()
	p.wantNotRenewed(g, coord.ErrLeaseLost)
	p.wantNotReleased(g, coord.ErrLeaseLost)
}

// wantFull checks that p gets no worker ID.
func (p party) wantFull() {
	p.Helper()
	p.wantNotGranted("where all worker IDs are held", p.request(), coord.ErrNoWorkerID)
}

// wantSame checks that two grants say the same; the handle is the driver's own.
func (s *suite) wantSame(got, want coord.Grant) {
	s.Helper()
	if got, want = withoutHandle(got), withoutHandle(want); got != want {
		safetytest.Of(s).Fatalf("returned was %v; want %v", got, want)
	}
}

// wantWindow checks the window of g.
func (s *suite) wantWindow(g coord.Grant, from, until int64) {
	s.Helper()
	if g.NotBefore != from || g.NotAfter != until {
		safetytest.Of(s).Fatalf("returned was %v; want the window (%d, %d]", g, from, until)
	}
}

// wantAfter checks that g begins at or above tick, and is a later grant.
func (s *suite) wantAfter(g, predecessor coord.Grant, tick int64) {
	s.Helper()
	if g.NotBefore < tick || g.Generation <= predecessor.Generation {
		safetytest.Of(s).Fatalf("%v was granted; want that it does not begin below %d, where its "+
			"predecessor's window ends, and a higher generation than that of %v", g, tick, predecessor)
	}
}

// wantNext acquires the only worker ID after g, of which all up to a tick may be used.
func (s *suite) wantNext(g coord.Grant, tick int64) coord.Grant {
	s.Helper()
	next := s.client(1).acquire()
	s.wantAfter(next, g, tick)
	return next
}
