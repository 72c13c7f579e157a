package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// finish gives the worker ID back at the end of the loop.
func (k *Keeper) finish() {
	defer func() { k.result = errors.Join(k.result, k.closeFile()) }()
	defer k.background.Wait()
	k.awaitSeek()
	if k.pending && k.hurry.Err() != nil { //mutant:cut-off-said
		k.result = errors.Join(k.result, cutOff(context.Cause(k.hurry)))
	}
	//mutant:start-closed
	if !k.held || k.remains { //mutant:lost-released
		if k.file.mayHave(k.grant.Token) {
			k.result = errors.Join(k.result, k.saveNow(k.hurry, k.record(k.own(), k.pieces)))
		}
		return
	}
	k.awaitCalls()
	// The gate is shut already; this only asks how far it got. Whatever the loop
	// was doing, the window is trimmed to what a closed gate has returned.
	last := k.cfg.Gate.Shut(errStopped)                                  //mutant:trim-open
	parked := k.file != nil && (k.file.offline || k.outage.cause != nil) //mutant:park
	k.result = errors.Join(k.result, k.retire(k.grant, k.own(), last, parked))
	k.held = false
}

// retire gives back the grant of a keeper that is stopped, of which nothing above tick last was
// stamped or ever will be. If parked, its pieces stay in the state file for a successor.
func (k *Keeper) retire(g coord.Grant, pieces []coord.Grant, last int64, parked bool) error {
	if k.file != nil {
		if free, err := k.leave(pieces, last, parked); err != nil {
			return fmt.Errorf("worker ID %d not released, it becomes free when its lease ends: %w",
				g.WorkerID, err)
		} else if !free {
			k.log.Warn("the coordinator does not answer, so the worker ID stays in the state file: the "+
				"next start goes on with it, or it becomes free when its lease ends", "worker_id", g.WorkerID)
			return nil
		}
	}
	err := k.giveBack(g, last, k.replies)
	k.logRelease(g, err)
	return err
}

// cutOff says what becomes of an acquisition that nobody waits for any more.
func cutOff(why error) error {
	return fmt.Errorf("an acquisition was cut off, what it may have leased becomes free when its "+
		"lease ends: %w", why)
}

// awaitSeek releases another worker ID that is being acquired. A call that is under way gets a
// moment, because cutting it off can leave a worker ID leased which nobody uses.
func (k *Keeper) awaitSeek() {
	if k.seeking == nil {
		return
	}
	defer time.AfterFunc(k.replies.base, k.seeking.cut).Stop() //mutant:await-seek
	if g, err := k.conclude(<-k.sought); err == nil {
		k.result = k.giveBack(g, g.NotBefore, k.replies)
		k.logRelease(g, k.result)
	}
}

// cutSeek ends the acquisition of another worker ID, because nothing is held any more. Its token is
// kept if its outcome is unknown, so that the next acquisition finds what it got.
func (k *Keeper) cutSeek() {
	if k.seeking == nil {
		return
	}
	k.seeking.wake()
	k.seeking.cut()
	k.seeking = nil
	if g, err := k.conclude(<-k.sought); err == nil {
		k.tidy(g, g.NotBefore, false)
	}
}

// awaitCalls lets the renewals that are under way end, for a moment: some clients give
// up a connection together with a call, and the release needs it.
func (k *Keeper) awaitCalls() {
	moment := time.NewTimer(k.replies.base)
	defer moment.Stop()
	for len(k.calls) > 0 {
		select {
		case a := <-k.answers:
			k.drop(a.of)
			if a.err == nil && checkRenewal(a.old, a.g, k.cfg.Request.LastTick) == nil {
				k.grant = a.g
				k.outage.settled()
				if a.of.resumes {
					k.tookOver()
				}
			}
		case <-moment.C:
			k.dropAll()
		case <-k.hurry.Done():
			k.dropAll()
		}
	}
}

// giveBack releases a grant under which nothing above tick last was stamped or
// ever will be. A lost reply is no reason to leave a worker ID leased, so it is
// tried again for a while, but not for longer than the lease lasts by itself. The
// deadline of each call is what wait says.
func (k *Keeper) giveBack(g coord.Grant, last int64, wait Deadline) error {
	ctx, cancel := k.attempt(wait.inAll())
	defer cancel()
	retry := newBackoff(k.cfg.Lease.RenewEvery)
	for {
		began := time.Now()
		call, done := context.WithTimeout(ctx, wait.wait)
		err := k.cfg.Coordinator.Release(call, g, last)
		if call.Err() != nil {
			wait.missed()
		}
		done()
		k.report("release", g.WorkerID, time.Since(began), err)
		switch {
		case err == nil, errors.Is(err, coord.ErrLeaseLost):
			return nil // given back, now or earlier, or somebody else's already
		case coord.Permanent(err) || !sleep(ctx, retry.next()):
			if k.hurry.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(k.hurry), err)
			}
			return fmt.Errorf("worker ID %d not released, it becomes free when its lease ends: %w",
				g.WorkerID, err)
		}
	}
}

// tidy gives a worker ID back that the generator does not use, while the loop goes on
// with the one that it does. If quiet, only a failure is logged.
func (k *Keeper) tidy(g coord.Grant, last int64, quiet bool) {
	if k.file.mayHave(g.Token) { //mutant:file-first
		k.file.leaving = append(k.file.leaving, leaving{g, last, quiet})
		k.file.urgent()
		return
	}
	wait := k.replies
	k.background.Go(func() {
		if err := k.giveBack(g, last, wait); err != nil || !quiet {
			k.logRelease(g, err)
		}
	})
}

func (k *Keeper) logRelease(g coord.Grant, err error) {
	if err != nil {
		k.log.Warn("worker ID not released", "worker_id", g.WorkerID, "error", err)
		return
	}
	k.log.Info("worker ID released", "worker_id", g.WorkerID)
}
