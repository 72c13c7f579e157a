package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/remainder"
)

// process is a program with one coordinator and one clock. When it dies, another one takes
// its place.
type process struct {
	w     *world
	id    int
	clock *wrongClock

	mu  sync.Mutex
	c   *protocol.Coordinator
	rng *rand.Rand // of the coordinator
	rmu sync.Mutex // of rng

	life int  // counts the coordinators
	seen seen // since the loss
}

// begin is the birth of a process. The caller holds mu, or is alone.
func (p *process) begin() {
	random := func(limit int64) int64 {
		p.rmu.Lock()
		defer p.rmu.Unlock()
		return p.rng.Int64N(limit)
	}
	p.life++
	p.seen = seen{}
	at := link{p.w.server, p, &protocol.ServerClock{}}
	p.c = newCoordinator(p.w, at, p.clock, random, journal{p})
}

// end is its death, if it is the one with this coordinator that lives.
func (p *process) end(c *protocol.Coordinator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c == c {
		_ = p.c.Close()
		p.begin()
	}
}

// coordinator is that of the process that lives.
func (p *process) coordinator() *protocol.Coordinator {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.c
}

// actor is a part of a process. It holds worker IDs, one after the other, and stamps.
type actor struct {
	w       *world
	id      int
	rng     *rand.Rand
	p       *process
	parcels [2]int // that were sent, by lane

	c      *protocol.Coordinator // of the process, as of the last look
	tokens int
	asked  string // the token of the last acquisition

	paused, resting atomic.Bool
	leaves          atomic.Bool // its next call is a release
	heir            atomic.Bool // its successor goes on at once
	withoutHandle   atomic.Bool // and comes with a grant without a handle
	patient         atomic.Bool // its next call waits for long
	g               coord.Grant // empty token: none
	asks            int         // the world's history when the last call began
	when            int         // and when the call began that has returned g
	pieces          []piece     // that it may stamp, in order
	kept            []piece     // of a grant that was lost, which it may stamp
	last            int64       // tick stamped
	given           bool        // a release of g may have been sent
	confirmed       time.Time   // when the last call began that has returned g
	began           time.Time   // when the last call began
	asleep          bool        // it pauses, with its machine
}

// piece is a span (from, to] of ticks of a worker ID.
type piece struct {
	worker   int
	from, to int64
}

// pieceOf is the window of a grant.
func pieceOf(g coord.Grant) piece { return piece{g.WorkerID, g.NotBefore, g.NotAfter} }

// rightClock is the time of the bubble.
type rightClock struct{}

func (rightClock) UnixMicro() int64 { return time.Now().UnixMicro() }

// wrongClock is off.
type wrongClock struct{ off atomic.Int64 }

func (c *wrongClock) set(d time.Duration) { c.off.Store(d.Microseconds()) }
func (c *wrongClock) UnixMicro() int64    { return time.Now().UnixMicro() + c.off.Load() }

func newCoordinator(w *world, store protocol.Store, c clock.Clock, random func(int64) int64,
	log slog.Handler,
) *protocol.Coordinator {
	w.tb.Helper()
	p, err := protocol.New(store, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "sim",
		Lease:  coord.LeaseConfig{TTL: ttl, Horizon: horizon},
		MinTTL: time.Second, MaxHorizon: maxHorizon, SkewBound: w.skew,
		ServerClock: w.server.Clock != nil, Outlives: !w.server.Strict, Forgets: w.server.Strict,
		Clock: c, Logger: slog.New(log), Random: random,
	})
	if err != nil {
		w.tb.Fatal(err)
	}
	return p
}

// tick is the tick of the actor's clock.
func (a *actor) tick() int64 { return space.Scale.Tick(a.p.clock.UnixMicro()) }

// token returns a new one.
func (a *actor) token() string {
	a.tokens++
	return fmt.Sprintf("%d-%d", a.id, a.tokens)
}

// live is the life of an actor.
func (a *actor) live(ctx context.Context) {
	for ctx.Err() == nil {
		if c := a.p.coordinator(); c != a.c {
			a.c = c
			a.succeed(ctx)
			continue
		}
		if a.g.Token == "" {
			a.acquire(ctx)
			continue
		}
		a.rest(ctx, time.Duration(a.rng.Int64N(int64(ttl/3))))
		for a.paused.Load() && ctx.Err() == nil {
			a.resting.Store(true)
			a.rest(ctx, 100*time.Millisecond)
		}
		a.resting.Store(false)
		if a.heir.Load() {
			continue
		}
		a.stamp()
		switch n := a.rng.IntN(40); {
		case n < 2 && !a.w.isCalm(), a.leaves.CompareAndSwap(true, false):
			a.release(ctx)
		case n < 4 && !a.w.needs(a.p):
			a.die(ctx)
		case n == 4 && !a.w.needs(a.p):
			a.asleep = true
			a.rest(ctx, 2*ttl) // a pause of the machine
			a.asleep = false
			a.stamp()
		default:
			a.renew(ctx)
		}
	}
}

// pause has the actor pause when it holds something and its last call is done, until it is
// to go on.
func (a *actor) pause(paused bool) { a.paused.Store(paused) }

// rests reports whether it does.
func (a *actor) rests() bool { return a.resting.Load() }

// rest lets time pass.
func (a *actor) rest(ctx context.Context, d time.Duration) {
	a.w.meet()
	defer a.w.meet()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// callTime is for how long a call waits for an answer.
func (a *actor) callTime() time.Duration {
	if a.patient.CompareAndSwap(true, false) {
		return 2 * mostHeldBack
	}
	longest := 3000
	if a.rng.IntN(6) == 0 {
		longest = 12_000
	}
	return time.Duration(200+a.rng.IntN(longest)) * time.Millisecond
}

// call makes a call that has some time.
func (a *actor) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, actorKey{}, a), a.callTime())
	defer cancel()
	a.w.meet()
	a.asks, a.began = a.w.history, time.Now()
	defer a.w.meet()
	return f(ctx)
}

// request is an acquisition.
func (a *actor) request(token string, now int64) coord.Request {
	return coord.Request{
		Token: token, Identity: fmt.Sprint("actor ", a.id%3), Holder: fmt.Sprint(a.id),
		Fingerprint: space.Fingerprint, Scale: space.Scale, LastTick: space.LastTick,
		Workers: coord.Range{Count: a.w.share}, Capacity: workers, TTL: ttl,
		Now: now, Until: a.until(now), OpenBy: now + 100, Surviving: a.w.longest > 0,
	}
}

// until is the end of the windows that the actor asks for: those of two actors differ where
// long ones are declared.
func (a *actor) until(now int64) int64 {
	ahead := horizon
	if a.w.longest > 0 {
		ahead = a.w.longest - time.Duration(a.id%2)*maxHorizon
	}
	return now + ahead.Milliseconds()/tickLength.Milliseconds()
}

// noteLong counts a window that is longer than any that is not declared.
func (a *actor) noteLong(g coord.Grant) {
	if g.NotAfter > a.tick()+(maxHorizon+a.w.skew).Milliseconds()/tickLength.Milliseconds() {
		a.w.Long++
	}
}

// acquire acquires a worker ID, with one token until that is answered.
func (a *actor) acquire(ctx context.Context) {
	token := a.token()
	for ctx.Err() == nil {
		a.asked = token
		req := a.request(token, a.tick())
		var g coord.Grant
		err := a.call(ctx, func(ctx context.Context) (err error) {
			g, err = a.c.Acquire(ctx, req)
			return err
		})
		if err == nil {
			a.g, a.when, a.given = g, a.asks, false
			a.pieces = slices.Concat(a.kept, []piece{pieceOf(g)})
			a.kept = nil
			a.confirmed = a.began
			a.noteLong(g)
			a.w.say(fmt.Sprintf("%d has %v", a.id, g))
			return
		}
		a.w.say(fmt.Sprintf("%d has no worker ID: %v", a.id, err))
		a.w.refused(a, err)
		if a.rng.IntN(20) == 0 && !a.w.needs(a.p) {
			a.p.end(a.c)
		}
		if a.c != a.p.coordinator() {
			return
		}
		if coord.Permanent(err) || a.rng.IntN(6) == 0 {
			token = a.token()
		}
		a.rest(ctx, time.Duration(50+a.rng.IntN(1000))*time.Millisecond)
	}
}

// extend takes over what a renewal has returned.
func (a *actor) extend(r coord.Grant) {
	if n := len(a.pieces); r.NotBefore == a.g.NotBefore {
		a.pieces[n-1].to = r.NotAfter
	} else {
		a.pieces = append(a.pieces, pieceOf(r))
	}
	a.g, a.when, a.confirmed = r, a.asks, a.began
}

// renew renews what the actor has, and now and then makes another call beside the first,
// of which the answer does not count.
func (a *actor) renew(ctx context.Context) {
	g := a.g
	if a.rng.IntN(2) == 0 || a.withoutHandle.CompareAndSwap(true, false) {
		g.Handle = nil
	}
	if a.rng.IntN(3) == 0 && !a.w.isCalm() {
		var beside sync.WaitGroup
		defer func() {
			a.w.meet()
			beside.Wait()
		}()
		until, limit := a.tick()+a.rng.Int64N(500), a.callTime()
		beside.Go(func() {
			ctx := context.WithValue(context.WithValue(ctx, laneKey{}, 1), actorKey{}, a)
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			_, _ = a.c.Renew(ctx, g, until)
		})
	}
	var r coord.Grant
	err := a.call(ctx, func(ctx context.Context) (err error) {
		r, err = a.c.Renew(ctx, g, a.until(a.tick()))
		return err
	})
	switch {
	case err == nil:
		a.extend(r)
		a.noteLong(r)
		a.w.Renewals++
	case errors.Is(err, coord.ErrLeaseLost):
		a.goOn(err)
		a.g = coord.Grant{}
	}
	a.w.refused(a, err)
}

// goOn keeps the pieces of a lost grant that may still be used, until another one is acquired and
// after that.
func (a *actor) goOn(err error) {
	a.kept = nil
	for _, p := range a.pieces {
		if p.worker == a.g.WorkerID && remainder.Usable(err, p.from, p.to) {
			a.kept = append(a.kept, p)
			a.w.Rests++
		}
	}
}

// release gives the worker ID back. If the answer is lost, the grant is not used any more.
func (a *actor) release(ctx context.Context) {
	a.given = true
	if a.rng.IntN(2) == 0 || a.withoutHandle.CompareAndSwap(true, false) {
		a.g.Handle = nil
	}
	for range 3 {
		err := a.call(ctx, func(ctx context.Context) error {
			return a.c.Release(ctx, a.g, max(a.last, a.g.NotBefore))
		})
		if err == nil || errors.Is(err, coord.ErrLeaseLost) {
			break
		}
	}
	a.g = coord.Grant{}
}

// die ends the process, and with it the other actors that it has.
func (a *actor) die(ctx context.Context) {
	if a.rng.IntN(2) == 0 { // while it renews
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = a.call(ended, func(ctx context.Context) error {
			_, err := a.c.Renew(ctx, a.g, a.tick())
			return err
		})
	}
	a.p.end(a.c)
}

// succeed is the begin of an actor whose former process has died. It knows the last grant
// and the last tick, and may take over what that has held.
func (a *actor) succeed(ctx context.Context) {
	if a.g.Token == "" || a.given {
		a.g = coord.Grant{}
		return
	}
	a.w.say(fmt.Sprint(a.id, " has died"))
	heir := a.heir.CompareAndSwap(true, false)
	if !heir && a.rng.IntN(3) == 0 {
		a.g = coord.Grant{}
		return
	}
	a.asleep = true // it is no holder who lives
	tries := math.MaxInt
	if !heir {
		a.rest(ctx, time.Duration(a.rng.Int64N(int64(2*ttl))))
		tries = 4
	}
	a.resume(ctx, tries)
	a.asleep = false
}

// resume takes over the grant of a process that has died.
func (a *actor) resume(ctx context.Context, tries int) {
	token := a.token()
	old := a.g
	old.Handle = nil
	for range tries {
		var r coord.Grant
		err := a.call(ctx, func(ctx context.Context) (err error) {
			r, err = a.c.Resume(ctx, old, token, a.until(a.tick()))
			return err
		})
		if err == nil {
			// What the former process had of its window, above the last tick.
			if r.NotBefore == old.NotBefore {
				a.pieces[len(a.pieces)-1].to = r.NotAfter
			} else {
				a.pieces = append(a.pieces, pieceOf(r))
			}
			a.g, a.when, a.confirmed = r, a.asks, a.began
			a.w.Resumed++
			a.w.say(fmt.Sprintf("%d has resumed %v", a.id, r))
			return
		}
		if errors.Is(err, coord.ErrLeaseLost) || errors.Is(err, coord.ErrClosed) || ctx.Err() != nil {
			break
		}
	}
	a.g = coord.Grant{}
}

// stamp stamps every tick that it may, up to its clock, or now and then all of them.
func (a *actor) stamp() {
	now := a.tick()
	if a.rng.IntN(5) == 0 {
		now = 1 << 60
	}
	for _, p := range a.pieces {
		from, to := max(p.from, a.last), min(p.to, now)
		if from < to {
			a.w.ledger.stamp(a.w, a.id, p.worker, from, to)
			a.last = to
		}
	}
}
