package keeper_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

const (
	ttl     = 15 * time.Second
	every   = 5 * time.Second
	horizon = 30 * time.Second
	limit   = 5 // ticks
)

// scale is that of the layout: milliseconds, from before the year in which a
// bubble begins.
var scale = clock.Scale{
	Epoch: time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	Unit:  1000,
}

// line is a participant's way to the back end. It can be cut for this participant
// alone, and what passes can be watched and changed.
type line struct {
	*coordtest.FakeClient

	mu sync.Mutex
	taps
	underWay int               // renewals under way
	waited   []context.Context // of those that somebody waits for
	most     int               // how many these were at most
}

// taps are what a test does to a line.
type taps struct {
	cut       bool   // calls wait until their context ends
	nonce     string // of the namespace; empty: a default
	unaware   bool   // the driver does not know Request.MustOpen
	onAcquire func(coord.Request)
	onRelease func(coord.Grant, int64)
	onResume  func(coord.Grant, string)
	acquired  func(coord.Grant, error) (coord.Grant, error) // changes the reply
	renewed   func(old, g coord.Grant, err error) (coord.Grant, error)
	lost      func(coord.Grant) <-chan struct{}
	slow      func(coordtest.Op) time.Duration // how long a reply takes; nil: no time
}

func (l *line) set(f func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// look returns the taps as they are now, or an error after ctx if the line is cut.
func (l *line) look(ctx context.Context) (taps, error) {
	l.mu.Lock()
	now := l.taps
	l.mu.Unlock()
	if now.cut {
		<-ctx.Done()
		return now, ctx.Err()
	}
	return now, nil
}

// delay waits for as long as the reply to a call takes, or until its context ends.
func (now taps) delay(ctx context.Context, op coordtest.Op) error {
	if now.slow != nil && !pause(ctx, now.slow(op)) {
		return fmt.Errorf("no reply to %v: %w", op, ctx.Err())
	}
	return nil
}

func (l *line) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	now, err := l.look(ctx)
	if err != nil {
		return coord.Grant{}, err
	}
	if now.unaware {
		req.MustOpen = false
	}
	if now.onAcquire != nil {
		now.onAcquire(req)
	}
	g, err := l.FakeClient.Acquire(ctx, req)
	if failed := now.delay(ctx, coordtest.Acquire); failed != nil {
		return coord.Grant{}, failed
	}
	if now.acquired != nil {
		return now.acquired(g, err)
	}
	return g, err
}

func (l *line) Renew(ctx context.Context, old coord.Grant, until int64) (coord.Grant, error) {
	now, err := l.look(ctx)
	if err != nil {
		return coord.Grant{}, err
	}
	l.set(func(l *line) {
		l.underWay++
		l.waited = append(slices.DeleteFunc(l.waited, func(c context.Context) bool {
			return c.Err() != nil // it was given up, and is about to return
		}), ctx)
		l.most = max(l.most, len(l.waited))
	})
	defer l.set(func(l *line) {
		l.underWay--
		l.waited = slices.DeleteFunc(l.waited, func(c context.Context) bool { return c == ctx })
	})
	g, err := l.FakeClient.Renew(ctx, old, until)
	if failed := now.delay(ctx, coordtest.Renew); failed != nil {
		return coord.Grant{}, failed
	}
	if now.renewed != nil {
		return now.renewed(old, g, err)
	}
	return g, err
}

func (l *line) Release(ctx context.Context, g coord.Grant, last int64) error {
	now, err := l.look(ctx)
	if err != nil {
		return err
	}
	if now.onRelease != nil {
		now.onRelease(g, last)
	}
	err = l.FakeClient.Release(ctx, g, last)
	if failed := now.delay(ctx, coordtest.Release); failed != nil {
		return failed
	}
	return err
}

func (l *line) Resume(ctx context.Context, old coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	now, err := l.look(ctx)
	if err != nil {
		return coord.Grant{}, err
	}
	if now.onResume != nil {
		now.onResume(old, token)
	}
	g, err := l.FakeClient.Resume(ctx, old, token, until)
	if failed := now.delay(ctx, coordtest.Resume); failed != nil {
		return coord.Grant{}, failed
	}
	return g, err
}

// Inspect returns a namespace with a nonce, unless the line is cut.
func (l *line) Inspect(ctx context.Context) (coord.Namespace, error) {
	now, err := l.look(ctx)
	return coord.Namespace{
		Layout: "layout", Nonce: cmp.Or(now.nonce, "nonce"), MaxHorizon: time.Hour,
	}, cmp.Or(err, ctx.Err(), now.delay(ctx, coordtest.Renew))
}

func (l *line) Lost(g coord.Grant) <-chan struct{} {
	l.mu.Lock()
	f := l.lost
	l.mu.Unlock()
	if f != nil {
		return f(g)
	}
	return l.FakeClient.Lost(g)
}

// rig is a keeper with everything around it.
type rig struct {
	t     *testing.T
	fake  *coordtest.Fake
	led   *ledger
	line  *line
	clock *clocktest.Shifted
	gate  *gate
	log   *journal
	*keeper.Keeper
	stopped bool
}

// newRig makes a keeper for a back end with some worker IDs. It is stopped at the
// end of the test, which also fails if the keeper leaves a goroutine behind.
func newRig(t *testing.T, workers int, edit ...func(*keeper.Config)) *rig {
	t.Helper()
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: workers})
	return join(t, f, newLedger(t, f), edit...)
}

// join makes one more keeper for a back end.
func join(t *testing.T, f *coordtest.Fake, led *ledger, edit ...func(*keeper.Config)) *rig {
	t.Helper()
	r := &rig{t: t, fake: f, led: led, line: &line{FakeClient: f.Client()}, log: &journal{}}
	r.clock = clocktest.NewShifted(time.Now())
	cfg := keeper.Config{
		Coordinator: r.line,
		Clock:       r.clock,
		Logger:      r.log.logger(),
		Lease:       coord.LeaseConfig{TTL: ttl, Horizon: horizon, RenewEvery: every},
		Request: coord.Request{
			Holder: "test", Fingerprint: "layout", Scale: scale, LastTick: 1 << 41,
			Workers: coord.Range{Count: 8}, Capacity: 8, TTL: ttl,
		},
		Horizon: horizon.Milliseconds(),
		Limit:   limit,
		CatchUp: limit + 1000,
	}
	for _, f := range edit {
		f(&cfg)
	}
	r.gate = &gate{led: led, now: r.now, limit: cfg.Limit}
	cfg.Gate = r.gate
	r.Keeper = keeper.New(cfg)
	t.Cleanup(func() {
		if !r.stopped {
			_ = r.close(context.Background()) // what it returns is for the tests of Stop
		}
		r.led.checkAll()
	})
	return r
}

// start makes a rig whose keeper runs.
func start(t *testing.T, workers int, edit ...func(*keeper.Config)) *rig {
	t.Helper()
	r := newRig(t, workers, edit...)
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	if err := r.Start(context.Background()); err != nil {
		r.t.Fatalf("Start: %v", err)
	}
}

// close does what a generator does when it is closed.
func (r *rig) close(ctx context.Context) error {
	r.stopped = true
	r.gate.close()
	return r.Stop(ctx)
}

// stop is close, which must succeed.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.close(r.t.Context()); err != nil {
		r.t.Errorf("Stop: %v", err)
	}
}

// lasts makes a call, which must take so long.
func (r *rig) lasts(least, most time.Duration, call func(context.Context) error) error {
	r.t.Helper()
	return r.lastsIn(r.t.Context(), least, most, call)
}

func (r *rig) lastsIn(ctx context.Context, least, most time.Duration,
	call func(context.Context) error,
) error {
	r.t.Helper()
	began := time.Now()
	err := call(ctx)
	if took := time.Since(began); took < least || took > most {
		r.t.Errorf("the call took %v, want %v to %v: %v", took, least, most, err)
	}
	return err
}

// now is the generator's clock in ticks.
func (r *rig) now() int64 { return scale.Tick(r.clock.UnixMicro()) }

// pass lets time pass, and everything settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stampFor makes an ID every 100 ms for some time, and returns how many it got and
// how many not.
func (r *rig) stampFor(d time.Duration) (got, not int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		pass(100 * time.Millisecond)
		if r.gate.stamp() {
			got++
		} else {
			not++
		}
	}
	return got, not
}

// serves makes an ID every 100 ms for some time, all of which must be stamped.
func (r *rig) serves(d time.Duration) {
	r.t.Helper()
	if _, not := r.stampFor(d); not != 0 {
		r.t.Errorf("%d IDs were refused in %v", not, d)
	}
}

// within waits until cond holds, and returns how long that took. After d the test
// has failed.
func within(t *testing.T, d time.Duration, what string, cond func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		synctest.Wait()
		if cond() {
			return time.Since(began)
		}
		if time.Since(began) >= d {
			t.Fatalf("%v passed and still not: %s", d, what)
		}
		time.Sleep(time.Millisecond)
	}
}

// stamps waits until an ID is stamped.
func (r *rig) stamps(d time.Duration) time.Duration {
	r.t.Helper()
	return within(r.t, d, "an ID is stamped", r.gate.stamp)
}

// holds compares who is held, and how many terms were published.
func (r *rig) holds(terms int, held ...int) {
	r.t.Helper()
	if h, n := r.fake.Holders(), r.gate.published(); n != terms || !slices.Equal(h, held) {
		safetytest.Of(r.t).Errorf("held are %v after %d terms, want %v after %d; the term is %+v", h, n,
			held, terms, r.gate.at())
	}
}

// because demands a reason for which the window does not grow, or none.
func (r *rig) because(want error) {
	r.t.Helper()
	if why := r.gate.reason(); !errors.Is(why, want) {
		r.t.Errorf("the reason is %v, want %v", why, want)
	}
}

// calls returns the calls of op, from the given one on.
func (r *rig) calls(op coordtest.Op, from int) []coordtest.Call { return r.fake.CallsOf(op)[from:] }

// made demands so many calls of op, from the given one on.
func (r *rig) made(op coordtest.Op, from, least, most int) {
	r.t.Helper()
	if n := len(r.calls(op, from)); n < least || n > most {
		r.t.Errorf("%d calls of %v, want %d to %d", n, op, least, most)
	}
}

// gapsOf returns the times between calls.
func gapsOf(calls []coordtest.Call) []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(calls); i++ {
		gaps = append(gaps, calls[i].At.Sub(calls[i-1].At))
	}
	return gaps
}

// paced demands so many attempts and more, at most so far apart, and after some of them
// no nearer to each other than half of that.
func (r *rig) paced(op coordtest.Op, from, least int, most time.Duration) {
	r.t.Helper()
	gaps := gapsOf(r.calls(op, from))
	for i, g := range gaps {
		if g > most || i > 10 && g < most/2 {
			r.t.Errorf("attempt %d came after %v, want %v to %v", i+2, g, most/2, most)
		}
	}
	if len(gaps) < least {
		r.t.Errorf("%d attempts, want %d and more", len(gaps)+1, least+1)
	}
}

// outages are the ways in which a back end is away.
var outages = map[string]func(*coordtest.Fake, bool){
	"dead link": (*coordtest.Fake).Outage,
	"refused":   (*coordtest.Fake).Refuse,
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// each runs a test in virtual time for each of the cases.
func each[C any](t *testing.T, cases map[string]C, f func(t *testing.T, c C)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, c) }) })
	}
}

// rounds runs a test in virtual time so many times: what jitter hides in one round shows
// in another.
func rounds(t *testing.T, n int, f func(t *testing.T)) {
	t.Helper()
	for range n {
		bubble(t, f)
	}
}
