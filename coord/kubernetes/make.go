package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// chunk is how many slots are made first, and most how many at once later. Until then there
	// are growth times as many each time. Where many want one at once, it is rush times as many.
	chunk, growth, most = 64, 4, 256
	rush                = 8
	// scarce is the part of the slots, below which it is time to make more: one of so many.
	scarce = 4
	// claimTime is how long others wait for whoever makes slots, at most. Half of that, or of the time that it has, is for
	// counting and taking what was made. giveUpTime is how long counting may take when nobody waits for it.
	claimTime, giveUpTime = 8 * time.Second, time.Second
	// claimPause is how long they wait at least, and at most twice, until they look again.
	claimPause = 200 * time.Millisecond
	// atOnce is how many requests are made at the same time.
	atOnce = 16
)

// make makes a namespace's record: that of a new one, or one that its slots tell of. It
// reports whether it was this call that did.
func (s *session) make(ctx context.Context, a *all, ask protocol.Ask) (bool, error) {
	if ask.New == nil {
		return false, s.errNoNamespace()
	}
	var c content
	var meta protocol.Meta
	if len(a.slots) == 0 {
		meta = ask.New(a.now + half)
	} else {
		meta = ask.Again(a.now+half, a.floor())
		ids := a.ids()
		c.Done, c.Change, c.Mend, c.Count = a.newest(), a.newest()+1, true, ids[len(ids)-1]+1
	}
	record, err := protocol.Encode(meta)
	if err != nil {
		return false, err
	}
	c.Record = []byte(record)
	o, mine, err := s.create(ctx, s.metaName(), -1, c)
	if err != nil || !mine || c.Mend {
		return mine, err // what is left to do is found by the next list
	}
	_, err = s.write(ctx, o, o.next(), nil)
	return true, err
}

// grow makes more slots if a share has too few left that can be had and open by now, or many want them. It reports whether to
// list again. Who is not the one to make them waits, rather than fight for what is left.
func (s *session) grow(ctx context.Context, a *all, share coord.Range, crowded bool) (again bool, _ error) {
	meta, err := entry[protocol.Meta](a.meta)
	if err != nil {
		return false, err
	}
	end := min(share.First+share.Count, meta.Record.Capacity)
	if end > MaxCapacity {
		return false, fmt.Errorf("%w: the share of worker IDs ends at %d; this driver makes an object for each, and at most %d: choose a layout with fewer, or a share below it",
			coord.ErrInvalid, end, MaxCapacity)
	}
	free, now := 0, meta.Record.Scale().Tick(a.now+2*half)
	for id := share.First; id < min(end, a.meta.Count); id++ {
		if o := a.slots[id]; o.damage == nil && !s.owned(o, a.now) && o.notAfter() <= now {
			free++
		}
	}
	have := max(min(end, a.meta.Count)-share.First, 0)
	if a.meta.Count >= end || have > 0 && free*scarce >= have && !crowded && s.turn.Load() < int64(free) {
		return false, nil
	}
	if a.meta.Claim > a.now && a.meta.Claim != s.claim.Load() { // somebody makes them
		return true, s.awaitWithOthers(ctx, a.meta)
	}
	count := min(growth*a.meta.Count, a.meta.Count+most)
	if crowded || s.turn.Load() >= int64(free) {
		count = min(rush*a.meta.Count, a.meta.Count+rush/growth*most)
	}
	return true, s.extend(ctx, a, min(max(count, share.First+chunk), end))
}

// awaitWithOthers is await, once for all in this process that wait for the same.
func (s *store) awaitWithOthers(ctx context.Context, meta *object) error {
	_, err := s.waits.join(ctx, meta.text, func(ctx context.Context) (*all, error) { return nil, s.await(ctx, meta) })
	return err
}

// await waits until somebody who makes slots has made them, or should have.
func (s *store) await(ctx context.Context, meta *object) error {
	for {
		pause := claimPause + time.Duration(rand.Int64N(int64(claimPause)))
		if err := wait(ctx, pause, errors.New("somebody else makes the slots of the namespace")); err != nil {
			return err
		}
		now, at, err := s.get(ctx, meta.name)
		if err != nil || now == nil || now.damage != nil || now.Count != meta.Count || now.Claim <= at {
			return err
		}
	}
}

// extend makes slots up to a worker ID, and counts them then. One process does at a time. What it
// has made is counted before its time is over, and others wait for it little longer than that.
func (s *session) extend(ctx context.Context, a *all, count int) error {
	lasts := claimTime
	if end, ok := ctx.Deadline(); ok {
		lasts = min(lasts, lifetime.Until(end))
	}
	c := a.meta.next()
	c.Claim = a.now + lasts.Microseconds() + rand.Int64N(time.Second.Microseconds()) // which tells whose it is
	s.claim.Store(c.Claim)                                                           // also if it is not known to be written: whoever has begun goes on
	making, cancel := context.WithTimeout(ctx, lasts/2)
	defer cancel()
	claimed, err := s.write(ctx, a.meta, c, nil)
	if err != nil || claimed == nil {
		return err
	}
	made, err := s.makeSlots(making, claimed, a, count)
	c = claimed.next()
	c.Count, c.Claim = made, 0
	if ctx.Err() != nil { // whoever waits for this call waits no longer
		go s.giveUp(context.WithoutCancel(ctx), claimed, c)
		return err
	}
	if making.Err() != nil {
		err = nil // what is made will do, or more are made
	}
	_, failed := s.write(ctx, claimed, c, nil)
	return cmp.Or(err, failed)
}

// giveUp writes what somebody who makes slots leaves to others. It ends soon by itself.
func (s *store) giveUp(ctx context.Context, claimed *object, c content) {
	ctx, cancel := context.WithTimeout(ctx, giveUpTime)
	defer cancel()
	_, _ = s.write(ctx, claimed, c, nil) // otherwise the claim ends
}

// makeSlots makes the slots up to a worker ID that the namespace's record does not count, and returns below which worker
// ID all are made.
func (s *store) makeSlots(ctx context.Context, claimed *object, a *all, count int) (int, error) {
	first := a.meta.Count
	done := make([]bool, count-first)
	err := each(len(done), func(i int) error {
		err := s.pass(ctx, claimed, a.slots[first+i], first+i, true)
		done[i] = err == nil
		return err
	})
	if n := slices.Index(done, false); n >= 0 {
		return first + n, err
	}
	return count, err
}

// touch gives a slot a change of the namespace's record.
func (s *store) touch(ctx context.Context, o *object, change, floor int64) (bool, error) {
	c := o.next()
	c.Change, c.Floor = max(c.Change, change), floor
	now, err := s.write(ctx, o, c, nil)
	return now != nil, err
}

// each calls f with 0 to n-1, some at the same time, until there is an error, and returns the first one.
func each(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	var first atomic.Pointer[error]
	places := make(chan struct{}, atOnce)
	for i := range n {
		places <- struct{}{}
		if first.Load() != nil {
			break // the others would have the same to wait for
		}
		wg.Go(func() {
			defer func() { <-places }()
			if err := f(i); err != nil {
				first.CompareAndSwap(nil, &err)
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}
