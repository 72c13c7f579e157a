package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// File stores a [Record] for the successor of this process. The keeper makes one call at a time,
// never waits for one while it holds a worker ID, and makes none after Close.
type File interface {
	// Load locks the file and decodes the record in it into content. If there is a record that must
	// not be used, why says the reason. After an error nothing is locked.
	Load(content any) (why string, err error)
	// Save returns when content is on the disk, however long that takes. After an error the disk
	// has either the old record or the new one.
	Save(content any) error
	// Close unlocks the file, if it is locked.
	Close() error
	// Path is the name of the file in messages.
	Path() string
}

// Record is the content of a state file: the grant of a worker ID, and how much of it may have been
// stamped.
type Record struct {
	// Place, Nonce, Layout, Identity and TTL tell whether the grant fits an acquisition: the address
	// and the nonce of the namespace, the layout's fingerprint, the holder's identity, and the
	// duration of the lease in microseconds.
	Place    string `json:"place"`
	Nonce    string `json:"nonce"`
	Layout   string `json:"layout"`
	Identity string `json:"identity"`
	TTL      int64  `json:"ttl"`
	// Pieces are the windows of the grant; the oldest first. None: there is no grant.
	Pieces []coord.Grant `json:"pieces"`
	// Sent is the token of a Resume whose outcome is unknown; empty: there is none.
	Sent string `json:"sent"`
	// Marks are high-water marks by worker ID: no tick above a mark was stamped under a grant of its
	// worker ID. Worker IDs that were lost have one, too.
	Marks map[int]int64 `json:"marks"`
	// Renewed is when the coordinator extended the newest window, in microseconds since 1970.
	Renewed int64 `json:"renewed"`
}

// tokens adds the tokens that a successor can send to the coordinator.
func (r *Record) tokens(all map[string]bool) {
	all[r.Sent] = true
	for _, p := range r.Pieces {
		all[p.Token] = true
	}
}

const (
	// MarkAhead is how far the mark lies ahead of the clock, beyond Request.Ahead. It is raised three
	// times as often.
	MarkAhead = 3 * time.Second
	// filePatience is how long an acquisition waits for the disk, and for a coordinator without
	// which the window in the file serves.
	filePatience = 2 * time.Second
	// closePatience is how long Stop waits for a disk that does not answer.
	closePatience = time.Second
	// mostMarks bounds the marks of worker IDs that were lost. The highest ones are kept.
	mostMarks = 100
)

// stateFile is the keeper's view of its file. It belongs to the loop.
type stateFile struct {
	File
	loaded bool
	unfit  string // why the record that was there is not used; empty: it is, or there was none
	// disk is the record that was saved last, and tried the record of the save that is under way, or
	// of the last one. Until a save succeeds, the disk may have any record that was tried since, and
	// so any of the tokens.
	disk   Record
	tried  *Record
	tokens map[string]bool
	busy   bool // a call is under way
	began  time.Time
	calls  chan error // the result of the call
	err    error      // of the last call, or that it has not ended for long
	saveAt time.Time  // when to save next

	inherited []coord.Grant // the grant of a predecessor, until it is taken over or given up
	nonce     string        // of the namespace
	sent      string        // Record.Sent
	offline   bool          // the grant in use is to be taken over with sent
	marks     map[int]int64 // Record.Marks of the next record
	leaving   []leaving     // grants to release when the disk has them no more
	renewed   time.Time     // Record.Renewed, by the keeper's clock

	report atomic.Pointer[Window]
}

// leaving is a grant that is not used any more.
type leaving struct {
	g     coord.Grant
	last  int64
	quiet bool
}

// Window is the window that a keeper with a state file has, of which the gate has the part up to
// the mark.
type Window struct {
	NotAfter int64     // its last tick
	Renewed  time.Time // when the coordinator extended it, perhaps for an earlier process
	Failing  error     // why the coordinator does not extend it; nil: it does
}

// Window returns the window; nil: there is no worker ID, or no state file. It does not block, and
// may be called concurrently.
func (k *Keeper) Window() *Window {
	if k.file == nil {
		return nil
	}
	return k.file.report.Load()
}

// tell updates the result of Window.
func (k *Keeper) tell() {
	if k.file != nil && k.held {
		k.file.report.Store(&Window{k.grant.NotAfter, k.file.renewed, k.outage.cause})
	}
}

// usable returns the part of a piece that may be stamped: up to the mark on the disk.
func (k *Keeper) usable(g coord.Grant) coord.Grant {
	if k.file != nil {
		g.NotAfter = max(g.NotBefore, min(g.NotAfter, k.file.disk.Marks[g.WorkerID])) //mutant:mark-limits
	}
	return g
}

// ahead is how far a mark lies ahead of the clock, in ticks.
func (k *Keeper) ahead() int64 {
	return max(k.cfg.Request.Scale.TicksUp(MarkAhead.Microseconds()), 3) + k.cfg.Request.Ahead
}

// own returns the windows that a successor may go on with.
func (k *Keeper) own() []coord.Grant {
	if !k.held {
		return slices.Clone(k.file.inherited)
	}
	var own []coord.Grant
	for _, p := range k.pieces {
		if !k.remains && p.Token == k.grant.Token { //mutant:lost-in-file
			p.Handle = nil
			own = append(own, p) //mutant:piece-by-piece
		}
	}
	return own
}

// record returns a record with the given windows, and raises the marks of the worker IDs in use.
func (k *Keeper) record(pieces, used []coord.Grant) *Record {
	f, req := k.file, &k.cfg.Request
	ahead := k.now() + k.ahead()
	for i, p := range used {
		if i == 0 || p.NotBefore < ahead {
			f.marks[p.WorkerID] = max(f.marks[p.WorkerID], p.NotBefore, min(ahead, p.NotAfter))
		}
	}
	r := &Record{
		Place: k.cfg.Place, Nonce: f.nonce, Layout: req.Fingerprint, Identity: req.Identity,
		TTL: req.TTL.Microseconds(), Pieces: pieces, Sent: f.sent, Marks: maps.Clone(f.marks),
		Renewed: f.renewed.UnixMicro(),
	}
	for len(r.Marks) > mostMarks {
		delete(r.Marks, slices.MinFunc(slices.Collect(maps.Keys(r.Marks)), func(a, b int) int {
			return cmp.Compare(r.Marks[a], r.Marks[b])
		}))
	}
	for _, p := range pieces {
		r.Marks[p.WorkerID] = f.marks[p.WorkerID]
	}
	return r
}

// urgent has the record saved as soon as the disk is free.
func (f *stateFile) urgent() { f.saveAt = time.Time{} }

// call makes a call in the background, whose result goes to the loop.
func (f *stateFile) call(call func() error) {
	f.busy, f.began = true, time.Now()
	go func() { f.calls <- call() }()
}

// save begins to save a record. No other call is under way.
func (k *Keeper) save(r *Record) {
	k.file.tried = r
	r.tokens(k.file.tokens)
	k.file.saveAt = time.Now().Add(MarkAhead / 3)
	k.file.call(func() error { return k.file.Save(*r) })
}

// saved acts on the result of a save.
func (k *Keeper) saved(err error) {
	f := k.file
	failed := f.err != nil
	f.busy, f.err = false, err
	if err != nil {
		f.saveAt = time.Now().Add(k.diskRetries.next())
		if !failed {
			k.log.Warn("state file not written, IDs go on up to the time in it", "error", err)
		}
		k.explain(k.why)
		return
	}
	f.disk, f.tokens = *f.tried, map[string]bool{}
	f.disk.tokens(f.tokens)
	k.diskRetries.reset()
	if failed {
		k.log.Info("state file written again", "state_file", f.Path())
		k.explain(k.why)
	}
	if k.held {
		k.cfg.Gate.Extend(k.usable(k.pieces[0]).NotAfter)
	}
	k.dismiss()
}

// tendFile saves the record if it is time, and notices that the disk does not answer.
func (k *Keeper) tendFile() {
	f := k.file
	switch {
	case f == nil:
	case f.busy:
		if f.err == nil && time.Since(f.began) >= filePatience {
			f.err = f.silent()
			k.log.Warn("state file not written, IDs go on up to the time in it", "error", f.err)
			k.explain(k.why)
		}
	case time.Now().Before(f.saveAt):
	default:
		k.save(k.record(k.own(), k.pieces))
	}
}

// tendAt is when tendFile has something to do.
func (f *stateFile) tendAt() time.Time {
	switch {
	case !f.busy:
		return f.saveAt
	case f.err == nil:
		return f.began.Add(filePatience)
	}
	return f.began.Add(math.MaxInt64) // its end wakes the loop
}

// results is where the result of the call under way comes from. Nil: there is no file.
func (f *stateFile) results() <-chan error {
	if f == nil {
		return nil
	}
	return f.calls
}

// silent is the error of a call that has not ended for long.
func (f *stateFile) silent() error {
	return fmt.Errorf("state file %q: the disk has not answered for %v: %w", f.Path(),
		time.Since(f.began).Round(time.Millisecond),
		&fs.PathError{Op: "write", Path: f.Path(), Err: context.DeadlineExceeded})
}

// awaitDisk waits until no call is under way, at most for limit or until ctx ends. The loop calls
// it only while nothing is held.
func (k *Keeper) awaitDisk(ctx context.Context, limit time.Duration) error {
	f := k.file
	if !f.busy {
		return nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-f.calls:
		k.finished(err)
		return nil
	case <-timer.C:
		return f.silent()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), f.silent())
	}
}

// finished acts on the result of a call.
func (k *Keeper) finished(err error) {
	if k.file.loaded {
		k.saved(err)
		return
	}
	k.file.busy, k.file.err = false, err
}

// saveNow saves a record and returns when it is on the disk.
func (k *Keeper) saveNow(ctx context.Context, r *Record) error {
	if err := k.awaitDisk(ctx, filePatience); err != nil {
		return err
	}
	k.save(r)
	if err := k.awaitDisk(ctx, filePatience); err != nil {
		return err
	}
	return k.file.err
}

// mayLease reports whether another worker ID may be leased: the disk answers, and has no grant that
// was lost.
func (k *Keeper) mayLease() bool {
	f := k.file
	if f == nil {
		return true
	}
	return f.err == nil && (!k.remains || !f.mayHave(k.grant.Token)) //mutant:lost-out-first
}

// dismiss releases the grants that are not used any more, once no record on the disk has them: a
// successor would go on with a worker ID of another holder.
func (k *Keeper) dismiss() {
	all := k.file.leaving
	k.file.leaving = nil
	for _, l := range all {
		k.tidy(l.g, l.last, l.quiet)
	}
}

// mayHave reports whether the disk may have a grant with the token.
func (f *stateFile) mayHave(token string) bool {
	return f != nil && f.tokens[token]
}

// leave takes a grant, of which nothing above tick last was stamped, out of the file, and reports
// whether it may be released. If parked, the grant stays in the file for a successor, and is not
// released.
func (k *Keeper) leave(pieces []coord.Grant, last int64, parked bool) (free bool, err error) {
	f, g := k.file, pieces[len(pieces)-1]
	if !f.mayHave(g.Token) { //mutant:close-first
		return true, nil
	}
	last = max(last, pieces[0].NotBefore)
	if !parked {
		f.sent, pieces = "", nil
	}
	r := k.record(pieces, k.pieces)
	r.Marks[g.WorkerID] = last
	if err := k.saveNow(k.hurry, r); err != nil {
		return false, err
	}
	return !parked, nil
}

// closeFile unlocks the file. A save that does not end keeps the lock until it has ended, because
// it may still change the file.
func (k *Keeper) closeFile() error {
	f := k.file
	if f == nil {
		return nil
	}
	err := k.awaitDisk(context.Background(), closePatience)
	if err == nil {
		return f.Close()
	}
	go func() {
		err := <-f.calls
		k.log.Info("state file unlocked", "state_file", f.Path(), "error", errors.Join(err, f.Close()))
	}()
	return errors.Join(err, fmt.Errorf("state file %q stays locked until its disk answers or this "+
		"process ends", f.Path()))
}
