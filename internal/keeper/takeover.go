package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// inspector is a coordinator that describes its namespace, as [coord.Admin] does.
type inspector interface {
	Inspect(ctx context.Context) (coord.Namespace, error)
}

// fromFile goes on with the grant in the file, and reports whether it does. Otherwise it makes sure
// that the disk answers: no worker ID is leased that the file could not name.
func (k *Keeper) fromFile(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.ctx, cancel)()
	if err := k.load(ctx); err != nil {
		return false, err
	}
	if held, err := k.takeOver(ctx); held || err != nil {
		return held, err
	}
	return false, k.saveNow(ctx, k.record(k.own(), nil)) //mutant:write-before-leasing
}

// load locks the file and reads the record of a predecessor.
func (k *Keeper) load(ctx context.Context) error {
	f := k.file
	if f.loaded {
		return nil
	}
	if !f.busy {
		f.disk, f.unfit = Record{}, ""
		f.call(func() (err error) {
			f.unfit, err = f.Load(&f.disk)
			return err
		})
	}
	if err := cmp.Or(k.awaitDisk(ctx, filePatience), f.err); err != nil {
		return err
	}
	f.loaded = true
	f.marks, f.tokens = map[int]int64{}, map[string]bool{}
	f.disk.tokens(f.tokens)
	if f.unfit != "" {
		k.log.Warn("state file not used, leasing another worker ID", "state_file", f.Path(), "reason",
			f.unfit)
		return nil
	}
	r, req := f.disk, &k.cfg.Request
	if r.Place != k.cfg.Place || r.Layout != req.Fingerprint {
		f.disk = Record{} // it is of another namespace, or the file is new
		return nil
	}
	if r.Marks != nil {
		f.marks = maps.Clone(r.Marks)
	}
	f.inherited, f.sent, f.nonce = k.fitting(&r), r.Sent, r.Nonce
	f.renewed = time.UnixMicro(r.Renewed)
	if f.inherited == nil {
		f.sent = ""
	}
	return nil
}

// fitting returns the windows of a record above its mark; none if they do not fit what this keeper
// asks for.
func (k *Keeper) fitting(r *Record) []coord.Grant {
	req, now := &k.cfg.Request, k.now()
	if len(r.Pieces) == 0 || r.Identity != req.Identity || r.TTL != req.TTL.Microseconds() {
		return nil
	}
	newest := r.Pieces[len(r.Pieces)-1]
	mark, known := r.Marks[newest.WorkerID]
	// A mark that lies further ahead than a crash explains is that of a clock which has gone back
	// since: another worker ID serves sooner.
	latest := now + k.ahead() + req.Scale.TicksUp(filePatience.Microseconds())
	if !known || newest.NotAfter > req.LastTick || mark > latest || //mutant:mark-ahead
		newest.WorkerID < req.Workers.First || newest.WorkerID-req.Workers.First >= req.Workers.Count {
		return nil
	}
	return above(r.Pieces, mark)
}

// above returns the parts of pieces that lie above a mark, at least an empty one.
func above(pieces []coord.Grant, mark int64) []coord.Grant {
	pieces = slices.Clone(pieces)
	for len(pieces) > 1 && pieces[0].NotAfter <= mark {
		pieces = pieces[1:]
	}
	//mutant:above-the-mark
	pieces[0].NotBefore = max(pieces[0].NotBefore, min(mark, pieces[0].NotAfter))
	return pieces
}

// takeOver goes on with the grant of a predecessor, if the file has one, and reports whether it
// does. It waits for the coordinator for a moment. If that does not answer, the window in the file
// serves, and the loop takes the grant over when the coordinator is back.
func (k *Keeper) takeOver(ctx context.Context) (done bool, err error) {
	f := k.file
	if f.inherited == nil {
		return false, nil
	}
	if f.sent == "" {
		f.sent = newToken()
	}
	if f.disk.Sent != f.sent { //mutant:sent-first
		if err := k.saveNow(ctx, k.record(f.inherited, nil)); err != nil {
			return false, err
		}
	}
	pieces, asked := f.inherited, k.now()
	newest := pieces[len(pieces)-1]
	limit := filePatience
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := k.replies
	resume := k.resume()
	g, err := Ask(call, &d, nil, func(ctx context.Context) (coord.Grant, error) {
		began := time.Now()
		g, err := resume(ctx, newest, k.until(k.now()))
		k.report("resume", newest.WorkerID, time.Since(began), err)
		return g, err
	})
	if err == nil {
		err = checkRenewal(resumed(newest, f.sent), g, k.cfg.Request.LastTick)
	}
	serves := k.cfg.Place != "" && f.nonce != "" && newest.NotAfter > max(pieces[0].NotBefore, asked)
	switch {
	case err == nil:
		for i := range pieces {
			pieces[i].Token, pieces[i].Generation = g.Token, g.Generation
		}
		f.sent = ""
		f.nonce = cmp.Or(nonceOf(g), f.nonce)
		if g.NotBefore == newest.NotBefore {
			pieces[len(pieces)-1] = g
		} else {
			pieces = append(pieces, g)
		}
		f.renewed = k.wallNow()
		return true, k.open(ctx, pieces, false, asked)
	case errors.Is(err, coord.ErrLeaseLost):
		k.log.Info("the worker ID in the state file is not held any more, leasing another one",
			"worker_id", newest.WorkerID, "error", err)
		f.inherited, f.sent = nil, ""
		return false, nil
	case ctx.Err() != nil || coord.Permanent(err):
		return true, err
	case !serves:
		return false, nil
	}
	f.offline = true
	if err := k.open(ctx, pieces, false, asked); err != nil {
		return true, err
	}
	k.log.Warn("the coordinator does not answer, going on with the window in the state file",
		"worker_id", newest.WorkerID, "window_ends", k.timeOf(newest.NotAfter+1), "error", err)
	k.renewAt = time.Now()
	k.outage.fails(err)
	k.explain(fmt.Errorf("renewal failed: %w", err))
	return true, nil
}

// resumed returns the grant that a Resume of g with a token makes, before its window grows.
func resumed(g coord.Grant, token string) coord.Grant {
	g.Token = token
	g.Generation++
	return g
}

// tookOver notes that the grant in use has been taken over.
func (k *Keeper) tookOver() {
	f, g := k.file, k.grant
	for i, p := range k.pieces {
		if p.WorkerID == g.WorkerID {
			k.pieces[i].Token, k.pieces[i].Generation = g.Token, g.Generation
		}
	}
	f.sent, f.offline = "", false
	f.nonce = cmp.Or(nonceOf(g), f.nonce)
	f.urgent()
}

// resume returns the call that takes over the grant in the file, with a token that is on the disk.
// It fails if the namespace does not allow the horizon of this keeper, or was made anew since.
func (k *Keeper) resume() func(context.Context, coord.Grant, int64) (coord.Grant, error) {
	token, nonce := k.file.sent, k.file.nonce
	return func(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
		if err := k.declared(ctx); err != nil {
			return coord.Grant{}, err
		}
		next, err := k.cfg.Coordinator.(coord.Resumer).Resume(ctx, g, token, until)
		if errors.Is(err, coord.ErrLeaseLost) && nonce != "" && g.NotAfter >= k.now() {
			err = k.madeAnew(ctx, g, nonce, err)
		}
		return next, err
	}
}

// declared returns an error if the namespace does not allow windows as long as those of this
// keeper. A coordinator takes one that is a little too long for one of a clock that differs, and
// cuts it.
func (k *Keeper) declared(ctx context.Context) error {
	horizon, longest := k.cfg.Lease.Horizon, coord.Describe(k.cfg.Coordinator).Rules.HorizonLimit()
	in, ok := k.cfg.Coordinator.(inspector)
	if horizon <= longest || !ok {
		return nil
	}
	ns, err := in.Inspect(ctx)
	longest = max(longest, ns.MaxHorizon)
	if err != nil || ns.Layout == "" || horizon <= longest {
		return err
	}
	return fmt.Errorf("%w: Horizon is %v, and the namespace of state file %q has %v at most; declare "+
		"a new one with 'unalike init --max-horizon %v', which may follow this one (--after)",
		coord.ErrInvalid, horizon, k.file.Path(), longest, horizon)
}

// madeAnew tells a grant that was lost from one whose namespace was made anew: then no holder knows
// of the windows in the file.
func (k *Keeper) madeAnew(ctx context.Context, g coord.Grant, nonce string, lost error) error {
	in, ok := k.cfg.Coordinator.(inspector)
	if !ok {
		return lost
	}
	ns, err := in.Inspect(ctx)
	if err != nil {
		return err
	}
	if ns.Nonce == nonce {
		return lost
	}
	return fmt.Errorf("%w: state file %q has worker ID %d of a namespace of the same name that does "+
		"not exist any more: it was made anew, or lost; delete the file when the windows in it are over",
		coord.ErrInvalid, k.file.Path(), g.WorkerID)
}

// nonceOf returns the nonce of the namespace in which a grant was made or extended. Drivers keep it
// in the handle; empty: the handle has none.
func nonceOf(g coord.Grant) string {
	if h, ok := g.Handle.(interface{ NamespaceNonce() string }); ok {
		return h.NamespaceNonce()
	}
	return ""
}

// windowOver adds to the error of an acquisition that a predecessor's window was over.
func (k *Keeper) windowOver(err error) error {
	if k.file == nil || k.file.inherited == nil {
		return err
	}
	end := k.file.inherited[len(k.file.inherited)-1].NotAfter + 1
	if end > k.now() {
		return err
	}
	return fmt.Errorf("the last window in state file %q ended at %s, so that the coordinator is "+
		"needed: %w", k.file.Path(), k.timeOf(end).Format("2006-01-02T15:04:05.000Z"), err)
}

// nonce returns the nonce of the namespace in which g was made; empty: it is not known.
func (k *Keeper) nonce(ctx context.Context, g coord.Grant) string {
	nonce := nonceOf(g)
	if in, ok := k.cfg.Coordinator.(inspector); ok && nonce == "" {
		ns, _ := in.Inspect(ctx) // without it, a successor needs the coordinator
		nonce = ns.Nonce
	}
	return nonce
}

// aboveMark cuts off the part of a new grant that may have been stamped under an earlier one of the
// same worker ID: a coordinator that has lost its last writes does not know of it.
func (k *Keeper) aboveMark(g coord.Grant) (coord.Grant, error) {
	mark := k.file.marks[g.WorkerID]
	if mark >= g.NotAfter && mark > g.NotBefore {
		k.tidy(g, mark, false)
		return g, fmt.Errorf("worker ID %d was used up to %v, and is granted up to %v only: %w",
			g.WorkerID, k.timeOf(mark), k.timeOf(g.NotAfter), coord.ErrNoWorkerID)
	}
	g.NotBefore = max(g.NotBefore, mark) //mutant:lost-mark
	return g, nil
}
