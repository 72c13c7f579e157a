package keeper

import (
	"math"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// pokePause is how long the keeper turns a deaf ear to pokes after one: a
// generator that refuses a million times a second must not keep it busy.
const pokePause = 10 * time.Millisecond

// loop keeps a worker ID until the keeper is told to stop, and gives it back.
func (k *Keeper) loop() {
	defer close(k.done)
	defer k.rush(nil)
	if k.without.IsZero() {
		k.without = time.Now()
	}
	var poked time.Time
	ended := k.announceEnd()
	for k.ctx.Err() == nil {
		if !k.held {
			k.cutSeek()
			k.reacquire()
			continue
		}
		k.await(&poked)
	}
	ended()
	told := k.announcing(k.finish, "giving the worker ID back, waiting for the coordinator to answer",
		"worker_id", k.grant.WorkerID, "at_most", 2*k.replies.base+k.replies.inAll())
	if told && k.result == nil {
		k.log.Warn("the worker ID was given back", "worker_id", k.grant.WorkerID)
	}
}

// await waits for the next thing to do, and does it.
func (k *Keeper) await(poked *time.Time) {
	if !k.wantsAnother() {
		k.callOff()
	} else if k.seeking == nil && k.mayLease() {
		k.seek(0, nil)
	}
	pokes, wake := k.poke, k.renewAt
	if deaf := poked.Add(pokePause); time.Now().Before(deaf) {
		pokes, wake = nil, earlier(wake, deaf)
	}
	if k.file != nil {
		wake = earlier(wake, k.file.tendAt())
	}
	timer := time.NewTimer(time.Until(wake))
	defer timer.Stop()
	ring, stop := clock.Alarm(k.cfg.Clock, k.nextEvent(k.now()))
	defer stop()

	select {
	case <-k.ctx.Done():
		return
	case a := <-k.answers:
		k.answered(a)
	case a := <-k.sought:
		k.found(a)
	case err := <-k.file.results():
		k.saved(err)
	case <-k.lost:
		k.lost = nil
		k.log.Warn("a hint that the lease is gone, renewing", "worker_id", k.grant.WorkerID)
		k.urge()
	case <-pokes:
		*poked = time.Now()
		// The window ended although the last renewal was fine: the machine was
		// suspended, or its clock stepped forward. There is no reason to wait.
		if k.ended(k.now()) && !k.remains && k.retries.pause == 0 && len(k.calls) == 0 {
			k.urge()
		}
	case <-ring:
	case <-timer.C:
		if !time.Now().Before(k.renewAt) {
			k.renewNext()
		}
	}
	k.look()
}

// urge renews ahead of time, but not twice within a moment: whoever asks for it may
// go on asking, because the renewal did not help.
func (k *Keeper) urge() {
	if again := k.urgedAt.Add(longestPause); time.Now().Before(again) {
		k.renewAt = earlier(k.renewAt, again)
		return
	}
	k.urgedAt = time.Now()
	k.renew()
}

// look does what is due by the generator's clock.
func (k *Keeper) look() {
	if k.held {
		for k.nextPiece() {
		}
		k.tendFile()
		k.tellService()
		k.tell()
	}
	k.cfg.Gate.Notice()
}

// ended tells whether the window in use lies in the past and nothing follows it.
func (k *Keeper) ended(now int64) bool {
	return len(k.pieces) == 1 && now > k.pieces[0].NotAfter
}

// nextEvent returns when, by the clock, something changes without anybody doing
// anything: the window in use opens or ends, or the clock has caught up after a
// step backward. In microseconds since 1970, always later than tick now.
func (k *Keeper) nextEvent(now int64) int64 {
	last, _ := k.cfg.Gate.Last()
	next := int64(math.MaxInt64)
	for _, tick := range []int64{
		k.pieces[0].NotBefore + 1, k.pieces[0].NotAfter + 1, k.usable(k.pieces[0]).NotAfter + 1,
		last - k.cfg.Limit,
	} {
		if tick > now {
			next = min(next, k.cfg.Request.Scale.Micro(tick))
		}
	}
	return next
}

// rolledBack reports whether the clock has gone back so far that the term in use
// refuses: behind what it has stamped, or behind the moment at which it began.
func (k *Keeper) rolledBack() bool { return k.behind(k.cfg.Limit) }

// farBehind reports whether the clock has gone back so far that another worker ID serves
// sooner. After a smaller step the keeper waits for the clock, because IDs of another worker
// ID would be smaller than the last one.
func (k *Keeper) farBehind() bool { return k.behind(k.cfg.CatchUp) } //mutant:catch-up

// behind reports whether the clock has gone back by more than some ticks. A window that lay
// in the future from the start is no step back.
//
// The clock is read after the tick that it judges. The other way round, a keeper
// that was preempted in between would compare an old clock with what was stamped
// meanwhile, and see a step that never happened.
func (k *Keeper) behind(ticks int64) bool {
	last, stamped := k.cfg.Gate.Last()
	now := k.now()
	return last-now > ticks && (stamped || now+ticks < k.openedAt)
}

// nextPiece ends the piece in use if its window is over, goes on with the one after
// the gap, and tells whether it did.
func (k *Keeper) nextPiece() bool {
	now := k.now()
	if len(k.pieces) < 2 || now <= k.pieces[0].NotAfter {
		return false
	}
	next, end := k.pieces[1], k.pieces[0].NotAfter+1
	if _, ok := k.cfg.Gate.Swap(Term{Grant: k.usable(next)}); !ok {
		return false // the generator is being closed
	}
	k.pieces, k.openedAt = k.pieces[1:], now
	if opens := next.NotBefore + 1; now < opens && k.outage.stops(end) {
		k.log.Error("issue window ended: no IDs until the next one opens", "worker_id", next.WorkerID,
			"ended", k.timeOf(end), "opens", k.timeOf(opens))
		return true
	}
	k.log.Info("continuing above the raised floor", "worker_id", next.WorkerID, "opened",
		k.timeOf(next.NotBefore+1))
	return true
}

// extended takes over the result of a renewal.
func (k *Keeper) extended(g coord.Grant) {
	newest := len(k.pieces) - 1
	switch {
	case g.NotBefore != k.pieces[newest].NotBefore: //mutant:piece-in-place
		k.pieces = append(k.pieces, g)
		k.log.Warn("the floor was raised, the window goes on above it", "worker_id", g.WorkerID, "opens",
			k.timeOf(g.NotBefore+1))
	case newest == 0:
		k.cfg.Gate.Extend(k.usable(g).NotAfter)
		fallthrough
	default:
		k.pieces[newest] = g
	}
	k.grant = g
	if k.file != nil {
		k.file.renewed = k.wallNow()
	}
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// earlier returns the earlier one of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
