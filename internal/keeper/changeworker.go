package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// seeking is an acquisition next to the worker ID in use.
type seeking struct {
	cut  context.CancelFunc // ends it
	wake context.CancelFunc // ends the pause before it; there is no call then
}

// errNotSought is the result of an acquisition that was called off before its call.
var errNotSought = errors.New("no other worker ID is needed any more")

// latestOpening is how far ahead a window may open that is waited for.
const latestOpening = time.Second

// wantsAnother reports whether the keeper needs another worker ID next to the one in use: the grant
// was lost, the clock stepped back far, or its window opens later.
func (k *Keeper) wantsAnother() bool { return k.remains || k.farBehind() || k.opensLate() }

// opensLate reports whether the only window opens so late that another worker ID may serve sooner.
func (k *Keeper) opensLate() bool {
	latest := k.now() + k.cfg.Request.Scale.TicksUp(latestOpening.Microseconds())
	if k.file != nil { // a successor's window opens above the mark, and keeps its worker ID
		latest += k.ahead() //mutant:file-stays
	}
	return len(k.pieces) == 1 && k.pieces[0].NotBefore > latest //mutant:opens-late
}

// seek begins to acquire another worker ID next to the one in use, after a pause because the last
// attempt failed with why. Unless the grant was lost, it takes one whose window is open. The loop
// goes on meanwhile.
func (k *Keeper) seek(pause time.Duration, why error) {
	identity := k.cfg.Request.Identity
	if k.farBehind() {
		identity = "" // its own worker ID is the one that does not help
	}
	req := k.request(k.now(), identity)
	req.MustOpen = !k.remains
	ctx, cut := k.attempt(pause + k.acquisitions.ttl)
	rest, wake := context.WithCancel(k.ctx)
	k.seeking = &seeking{cut, wake}
	k.background.Go(func() {
		defer cut()
		defer wake()
		if why != nil {
			k.rest(rest, pause, req, why)
		}
		if rest.Err() != nil || ctx.Err() != nil {
			k.sought <- acquired{req: req, err: errNotSought}
			return
		}
		k.sought <- k.ask(ctx, req, nil)
	})
}

// found acts on the result of seek. If there is no other worker ID, the one in use stays: it serves
// again when the clock has caught up, or when its window opens.
func (k *Keeper) found(a acquired) {
	k.seeking = nil
	if errors.Is(a.err, errNotSought) {
		return
	}
	g, err := k.conclude(a)
	switch {
	case err != nil:
		k.notFound(err)
	case k.remains:
		k.follow(g)
	case !k.wantsAnother(): //mutant:caught-up-meanwhile
		k.tidy(g, g.NotBefore, false) // nothing was stamped under it
	case g.NotBefore-k.now() > k.cfg.Limit: //mutant:heal-opens-later
		k.tidy(g, g.NotBefore, true) // a driver that does not know MustOpen
		k.seekAgain(coord.ErrNoWorkerID)
	default:
		k.change(g, a.req.Now)
	}
}

// notFound says why there is no other worker ID, and seeks on.
func (k *Keeper) notFound(err error) {
	switch {
	case k.remains:
		k.notAcquired(err)
		k.explain(fmt.Errorf("no worker ID: %w", err))
	case k.farBehind() && !k.soughtInVain:
		k.log.Warn("the clock stepped back and no other worker ID is usable, waiting for the clock",
			"worker_id", k.grant.WorkerID, "error", err)
	}
	k.soughtInVain = true
	if k.wantsAnother() {
		k.seekAgain(err)
	}
}

// seekAgain seeks after a pause. If a floor keeps all windows shut, no other worker ID serves
// sooner, and the pauses are as long as while every one is held.
func (k *Keeper) seekAgain(err error) {
	if !k.remains && errors.Is(err, coord.ErrQuarantined) {
		err = coord.ErrNoWorkerID
	}
	k.seek(k.waiting.after(err, k.wallNow()), err)
}

// callOff ends seek, because no other worker ID is needed any more. A call that is under way ends
// by itself, so that nothing stays leased that nobody uses.
func (k *Keeper) callOff() {
	k.soughtInVain = false
	if k.seeking != nil {
		k.seeking.wake()
		k.waiting.reset()
	}
}

// follow keeps g from now on. Its window comes into use when that of the lost grant has ended.
func (k *Keeper) follow(g coord.Grant) {
	k.keep(g)
	k.pieces = append(k.pieces, g)
	k.log.Info("worker ID acquired, its window follows the one in use", "worker_id", g.WorkerID,
		"generation", g.Generation, "window_opens", k.timeOf(g.NotBefore+1), "window_ends",
		k.timeOf(g.NotAfter+1))
}

// change moves the generator from the grant it has to g, and releases the old one.
func (k *Keeper) change(g coord.Grant, asked int64) {
	old, steppedBack := k.grant, k.farBehind()
	last, ok := k.cfg.Gate.Swap(Term{Grant: k.usable(g), SteppedBack: steppedBack})
	if !ok {
		k.result = k.giveBack(g, g.NotBefore, k.replies) // the file does not have it yet
		k.logRelease(g, k.result)
		return
	}
	k.adopt([]coord.Grant{g}, asked)
	k.log.Info("continuing with another worker ID", "old_worker_id", old.WorkerID, "worker_id",
		g.WorkerID, "clock_stepped_back", steppedBack)
	k.tidy(old, last, false)
}
