package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// errStopped says that the generator was closed while its keeper acquired.
var errStopped = errors.New("generator closed meanwhile")

// acquire leases a worker ID and opens the gate with it.
func (k *Keeper) acquire(ctx context.Context) error {
	if k.file != nil {
		if held, err := k.fromFile(ctx); held || err != nil {
			return err
		}
	}
	limit := k.acquisitions.ttl
	if k.cfg.StartTimeout > 0 && !k.giveUp.IsZero() {
		limit = min(limit, max(time.Until(k.giveUp), shortestCall))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Who closes waits for a reply, to give back what was leased, but no longer than one takes.
	ordinary := k.acquisitions.base
	defer context.AfterFunc(k.ctx, func() { time.AfterFunc(ordinary, cancel) })()
	req, reply := k.request(k.now(), k.cfg.Request.Identity), acquired{}
	ask := func() { reply = k.ask(ctx, req, k.notAcquired) }
	end, _ := ctx.Deadline()
	if k.told { //mutant:announced
		ask()
	} else {
		k.told = k.announcing(ask, "no worker ID yet, waiting for the coordinator to answer", "at_most",
			time.Until(end).Round(time.Millisecond), k.lasting())
	}
	g, err := k.conclude(reply)
	if err != nil {
		return k.windowOver(err)
	}
	// If the clock stepped back far while nothing was held, going on above the last
	// tick would mean a long wait for the clock to catch up.
	return k.open(ctx, []coord.Grant{g}, k.farBehind(), reply.req.Now)
}

// reacquire tries once to lease a worker ID anew, and pauses if that failed.
func (k *Keeper) reacquire() {
	err := k.acquire(k.hurry)
	if err == nil || k.ctx.Err() != nil {
		return
	}
	k.notAcquired(err)
	k.explain(fmt.Errorf("no worker ID: %w", err))
	k.cfg.Gate.Notice()
	k.rest(k.ctx, k.waiting.after(err, k.wallNow()), k.request(k.now(), k.cfg.Request.Identity), err)
}

// acquired is the result of a call of Acquire.
type acquired struct {
	req  coord.Request
	g    coord.Grant
	err  error
	took time.Duration
	// nonce is that of the namespace, as far as a keeper with a file found out.
	nonce string
	// called is false if the keeper stopped before it made the call.
	called bool
}

// request is what an acquisition at tick now asks for. One whose outcome is unknown is
// tried again with its own token, so that a grant whose reply was lost is found and not
// left to its TTL.
func (k *Keeper) request(now int64, identity string) coord.Request {
	if k.token == "" { //mutant:token-kept
		k.token = newToken()
	}
	req := k.cfg.Request
	req.Token, req.Identity = k.token, identity
	return k.timed(req, now)
}

// timed returns a request as of tick now. A window that must open may open within what the clock is
// allowed to be behind.
func (k *Keeper) timed(req coord.Request, now int64) coord.Request {
	req.Now, req.Until, req.OpenBy = now, k.until(now), now
	if req.MustOpen {
		req.OpenBy += k.cfg.Limit
	}
	return req
}

// ask makes one call to Acquire, and others beside it while it is not answered, all with the token
// of req: what one of them has reached is there for the next. It may run beside the loop.
func (k *Keeper) ask(ctx context.Context, req coord.Request, onRetry func(error)) acquired {
	d := k.acquisitions
	a, err := Ask(ctx, &d, onRetry, func(ctx context.Context) (acquired, error) {
		began := time.Now()
		req := k.timed(req, k.now())
		g, err := k.cfg.Coordinator.Acquire(ctx, req)
		took, worker := time.Since(began), noWorker
		if err == nil {
			worker = g.WorkerID
		}
		k.report("acquire", worker, took, err)
		a := acquired{req: req, g: g, took: took}
		if err == nil && k.file != nil {
			a.nonce = k.nonce(ctx, g)
		}
		return a, err
	})
	if err != nil {
		a = acquired{req: req, err: err}
	}
	a.called = true
	return a
}

// conclude returns the outcome of an acquisition. Everything definite ends its token, unless the
// keeper only waits for a worker ID.
func (k *Keeper) conclude(a acquired) (coord.Grant, error) {
	err := a.err
	if err == nil {
		k.acquisitions.met(a.took)
		err = checkGrant(a.g, a.req)
	}
	if err != nil && !coord.Permanent(err) {
		k.pending = k.pending || a.called
		return a.g, err
	}
	k.pending = false
	if !waits(err) { //mutant:token-after-a-grant
		k.token = "" //mutant:token-new
	}
	if err == nil && k.file != nil {
		k.file.nonce, k.file.renewed = a.nonce, k.wallNow()
		return k.aboveMark(a.g)
	}
	return a.g, err
}

// open publishes a term of a new grant, which was asked for at the given tick, or
// gives the grant back if the generator was closed meanwhile. With a state file, it saves the grant
// first. If that fails, the window is empty until the loop has saved it.
func (k *Keeper) open(ctx context.Context, pieces []coord.Grant, steppedBack bool,
	asked int64,
) error {
	if k.file != nil {
		own := slices.Clone(pieces)
		own[len(own)-1].Handle = nil
		_ = k.saveNow(ctx, k.record(own, own)) // the loop tries again
	}
	g := pieces[0]
	if _, ok := k.cfg.Gate.Swap(Term{Grant: k.usable(g), SteppedBack: steppedBack}); !ok {
		k.result = k.retire(pieces[len(pieces)-1], pieces, g.NotBefore, k.file != nil && k.file.offline)
		return errors.Join(errStopped, k.result)
	}
	told, took := k.told || k.outage.logged, time.Since(k.without)
	k.adopt(pieces, asked)
	k.tellEndOf(told, "worker ID acquired", "worker_id", g.WorkerID, "generation", g.Generation,
		"window_opens", k.timeOf(g.NotBefore+1), "window_ends", k.timeOf(g.NotAfter+1), "after",
		took.Round(time.Millisecond))
	k.tellOpening()
	k.tellService()
	k.tell()
	return nil
}

// adopt makes the grant of pieces, the first of which is in use, the one that is kept from now on.
func (k *Keeper) adopt(pieces []coord.Grant, asked int64) {
	k.keep(pieces[len(pieces)-1])
	k.pieces = pieces
	// The window was chosen for the time at which it was asked for. A clock that
	// stepped back since then has stepped back behind this term's beginning.
	k.openedAt = max(asked, k.now())
}

// keep makes g the grant that is kept from now on.
func (k *Keeper) keep(g coord.Grant) {
	k.dropAll()
	k.leased.Store(true)
	k.held, k.remains, k.grant, k.lost = true, false, g, nil
	// The lease and the window may have begun when the acquisition did.
	//mutant:renewal-after-slow-start
	k.renewAt = time.Now().Add(jitter(k.cfg.Lease.RenewEvery) - k.acquisitions.took)
	// What takes long to lease takes long to renew, though not three times as long: an
	// acquisition has several round trips with some back ends.
	k.replies.wait = max(k.replies.wait, min(k.acquisitions.took, k.replies.ttl))
	k.retries.reset()
	k.waiting.reset()
	k.outage.settled()
	k.told, k.giveUp, k.bound = false, time.Time{}, time.Time{}
	k.explain(nil)
	if f := k.file; f != nil {
		f.inherited = nil
		if !f.offline {
			f.sent = ""
		}
		f.urgent()
	}
	k.watch()
}

// checkGrant holds a driver to what Acquire promises.
func checkGrant(g coord.Grant, req coord.Request) error {
	switch {
	case g.Token != req.Token || g.Generation == 0:
		return fmt.Errorf("%w grant: the driver returned %v with another token or without a generation",
			coord.ErrInvalid, g)
	case g.WorkerID < req.Workers.First || g.WorkerID-req.Workers.First >= req.Workers.Count:
		return fmt.Errorf("%w grant: the driver returned %v; asked for was one of %v", coord.ErrInvalid,
			g, req.Workers)
	case g.NotBefore < 0 || g.NotAfter < g.NotBefore || g.NotAfter > req.LastTick:
		return fmt.Errorf("%w grant: the driver returned %v; ticks run from 0 to %d", coord.ErrInvalid, g,
			req.LastTick)
	}
	return nil
}
