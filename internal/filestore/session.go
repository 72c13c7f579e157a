package filestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

// session is the store, as one token sees it.
type session struct {
	*Store
	token string // empty: an operator's
	ttl   time.Duration
	life  context.Context
	end   context.CancelFunc
}

// Open implements [protocol.Store].
func (s *Store) Open(token string, ttl time.Duration, _ int) (protocol.Session, error) {
	life, end := context.WithCancel(context.Background())
	return &session{s, token, ttl, life, end}, nil
}

// Survey implements [protocol.Session].
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if s.path == "" && s.token == "" {
		return nil, errNoFile
	}
	return with(ctx, s.Store, s.token == "", func(d *state) (*protocol.Survey, bool, error) {
		v := &protocol.Survey{Last: -1, Server: s.Time(), Unit: 1, Slots: len(d.Slots) + len(d.Marks), Worker: d.worker(ask.Token), Begin: s.begin}
		var err error
		if v.Made = d.Meta.Made == 0 && len(d.Slots) == 0 && ask.New != nil; v.Made {
			d.Number++
			if d.Meta, err = d.put(d.Meta, ask.New(v.Server)); err != nil {
				return nil, false, err
			}
		}
		if v.Meta, err = d.meta(); err != nil {
			return nil, false, err
		}
		v.Position = protocol.Position{Number: d.Number, Wrote: v.Made}
		all, _ := d.slots() // what cannot be read is told by a probe
		lastVersion := int64(-1)
		for _, slot := range all {
			if ask.Identity != "" && slot.Record.Identity == ask.Identity && slot.Version > lastVersion {
				v.Last, v.LastSlot, lastVersion = slot.Record.Worker, slot, slot.Version
			}
			id := slot.Record.Worker
			if m, owned := d.Marks[id]; owned && m.Token != "" && within(ask, id) {
				l := protocol.Lease{Worker: id, Mark: strconv.FormatInt(m.Ends, 10), Renewed: slot.Record.Renewed, TTL: slot.Record.Lease(), Left: s.leases.Left(m.Ends)}
				v.Holders = append(v.Holders, protocol.Holder{Worker: id, Changed: slot.Version, Lease: l})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(d.Marks)) {
			if within(ask, id) {
				v.Owned = append(v.Owned, id)
			}
		}
		v.Retired = len(v.Owned) - len(v.Holders)
		return v, v.Made, nil
	})
}

// within reports whether a survey is asked for a worker ID.
func within(ask protocol.Ask, id int) bool {
	n := id - ask.Share.First
	return ask.Share.Count == 0 || n >= 0 && n < ask.Share.Count
}

// Look implements [protocol.Session].
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	return with(ctx, s.Store, s.token == "", func(d *state) (*protocol.View, bool, error) {
		v, err := d.view(worker)
		return v, false, err
	})
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	return with(ctx, s.Store, false, func(d *state) ([]protocol.Probe, bool, error) {
		probes := make([]protocol.Probe, len(workers))
		for i, id := range workers {
			probes[i].Slot, probes[i].Err = d.slot(id)
		}
		return probes, false, nil
	})
}

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	// An operator who raises the floor takes over a file that came from another machine.
	return with(ctx, s.Store, s.token == "" && c.Meta != nil, func(d *state) (protocol.Outcome, bool, error) {
		id := c.Worker()
		now, err := d.view(id)
		out := protocol.Outcome{Position: now.Position, Now: now}
		switch {
		case err != nil:
			return out, false, err
		case !is(d.Meta, c.Before.Meta), c.Unused && len(d.Slots)+len(d.Marks) > 0,
			c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && d.worker(c.Token) >= 0:
			return out, false, nil
		case !is(d.Slots[id], c.Before.Slot), now.Owned != c.Before.Owned:
			out.Conflict = protocol.ConflictSlot
			return out, false, nil
		}
		switch c.Owner {
		case protocol.OwnerTaken:
			undo, err := s.leases.Take(s.Path(), id, c.Token)
			if err != nil {
				return out, false, err
			}
			d.ended = func(written bool) {
				if !written {
					undo()
				}
			}
		case protocol.OwnerFreed:
			d.ended = func(bool) { s.leases.Free(id, c.Token) }
		}
		d.Number++
		if c.Meta != nil {
			d.Meta, err = d.put(d.Meta, *c.Meta)
		}
		if c.Slot != nil && err == nil {
			d.Slots[id], err = d.put(d.Slots[id], *c.Slot)
		}
		if err != nil {
			return out, false, err
		}
		d.own(id, c, s.leases.Ends(s.ttl))
		out = protocol.Outcome{Position: protocol.Position{Number: d.Number, Wrote: true}, Done: true}
		out.Now, err = d.view(id)
		return out, true, err
	})
}

// Leases implements [protocol.Session].
func (s *session) Leases(_ context.Context, holders []protocol.Holder) (leases []protocol.Lease) {
	for _, h := range holders {
		if l, ok := h.Lease.(protocol.Lease); ok && l.Left >= 0 {
			leases = append(leases, l)
		}
	}
	return leases
}

// List implements [protocol.Session]. It needs no more than the right to read.
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	if s.path == "" && slots {
		return nil, errNoFile
	}
	return peek(ctx, s.Store, func(d *state) (*protocol.Listing, error) {
		meta, err := d.meta()
		l := &protocol.Listing{Position: protocol.Position{Number: d.Number}, Meta: meta, Owned: slices.Sorted(maps.Keys(d.Marks))}
		var all []protocol.Entry[protocol.Slot]
		all, l.Unreadable = d.slots()
		for _, slot := range all {
			l.Slots = append(l.Slots, slot.Record)
		}
		return l, err
	})
}

// Watch implements [protocol.Session]. It looks at the file now and then.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	look := time.NewTicker(min(s.ttl/3, time.Second))
	defer look.Stop()
	for v.Owned {
		select {
		case <-ctx.Done():
			return false
		case <-s.life.Done():
			return false
		case <-look.C:
		}
		gone, err := peek(ctx, s.Store, func(d *state) (bool, error) { return d.Marks[v.Slot.Record.Worker].Token != v.Lease, nil })
		if gone && err == nil {
			return true
		}
	}
	return true
}

// Holds implements [protocol.Session].
func (s *session) Holds(v *protocol.View) bool {
	return v.Owned && s.leases.Holds(v.Slot.Record.Worker, v.Slot.Record.Token)
}

// Time implements [protocol.Session].
func (s *session) Time() int64 { return s.clock.UnixMicro() }

// Over implements [protocol.Session].
func (s *session) Over() error {
	if s.life.Err() != nil {
		return fmt.Errorf("the session with the state file was ended: %w", s.life.Err())
	}
	return nil
}

// End implements [protocol.Session].
func (s *session) End() {
	s.end()
	s.leases.End(s.token)
}
