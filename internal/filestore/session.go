package filestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/invalid"
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
	life, end := context.WithCancel(s.life)
	return &session{s, token, ttl, life, end}, nil
}

// errNoFile is the error of an operator where there is no file.
var errNoFile = invalid.Errorf("a coordinator without a state file cannot tell who holds its " +
	"worker IDs; name the state file")

// Survey implements [protocol.Session]. It takes the lock only to make the namespace.
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	if s.o.Path == "" && s.token == "" {
		return nil, errNoFile
	}
	survey := func(to access) (*protocol.Survey, error) {
		return with(ctx, s, to, func(d *State) (sv *protocol.Survey, made bool, _ error) {
			if made = to != look && !d.Meta.There(); made {
				meta := ask.New(s.Time())
				switch {
				case s.fresh:
					meta = meta.DeclaredNew()
				case s.lost: //mutant:file-lost
					meta = ask.Again(s.Time(), protocol.Meta{Fingerprint: meta.Fingerprint})
				}
				d.Number++
				d.Meta = d.Meta.Next(meta, d.Number)
			}
			return s.survey(d, ask, made), made, nil
		}, nil)
	}
	v, err := survey(look)
	if err == nil && !v.Meta.There() && ask.New != nil {
		return survey(change)
	}
	return v, err
}

// survey is what a state tells.
func (s *session) survey(d *State, ask protocol.Ask, made bool) *protocol.Survey {
	v := &protocol.Survey{
		Position: protocol.Position{Number: d.Number, Wrote: made, Server: s.Time()},
		Meta:     d.Meta,
		Made:     made && s.o.Path != "", // one in memory is new in each process, which is no news
		Worker:   d.worker(ask.Token), Last: -1,
		Slots: len(d.Slots) + len(d.Marks),
	}
	for id, slot := range d.Slots {
		if ask.Identity != "" && slot.Record.Identity == ask.Identity &&
			slot.Version > v.LastSlot.Version {
			v.Last, v.LastSlot = id, slot
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Marks)) {
		if n := id - ask.Share.First; ask.Share.Count != 0 && (n < 0 || n >= ask.Share.Count) {
			continue
		}
		v.Owned = append(v.Owned, id)
		m, slot := d.Marks[id], d.Slots[id]
		if m.Token == "" {
			v.Retired++
			continue
		}
		h := protocol.Holder{Worker: id, Changed: slot.Version}
		if now := s.o.Leases.Now(); now != 0 {
			left := time.Duration(max(m.Ends-now, 0)) * time.Microsecond
			h.Lease = protocol.Lease{
				Worker: id, Renewed: slot.Record.Renewed, TTL: slot.Record.Lease(), Left: left,
			}
		}
		v.Holders = append(v.Holders, h)
	}
	return v
}

// Look implements [protocol.Session].
func (s *session) Look(ctx context.Context, worker int, _ string) (*protocol.View, error) {
	return with(ctx, s, look, func(d *State) (*protocol.View, bool, error) {
		return d.view(worker), false, nil
	}, nil)
}

// Probe implements [protocol.Session].
func (s *session) Probe(ctx context.Context, workers []int) ([]protocol.Probe, error) {
	return with(ctx, s, look, func(d *State) (probes []protocol.Probe, _ bool, _ error) {
		for _, id := range workers {
			probes = append(probes, protocol.Probe{Slot: d.Slots[id]})
		}
		return probes, false, nil
	}, nil)
}

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	to := change
	if c.Meta != nil {
		to = adopt // an operator who raises the floor takes over a file that came from another machine
	}
	id := c.Worker()
	applied := false
	return with(ctx, s, to, func(d *State) (out protocol.Outcome, done bool, _ error) {
		now := d.view(id)
		out = protocol.Outcome{Position: now.Position, Now: now}
		switch {
		case !now.Meta.Same(c.Before.Meta), c.Unused && len(d.Slots)+len(d.Marks) > 0,
			c.Owner == protocol.OwnerTaken && c.Token != c.Replaced && d.worker(c.Token) >= 0:
			return out, false, nil
		case !now.Slot.Same(c.Before.Slot), now.Owned != c.Before.Owned:
			out.Conflict = protocol.ConflictSlot
			return out, false, nil
		case c.Owner == protocol.OwnerTaken:
			if err := s.o.Leases.Take(s.life, id); err != nil {
				return out, false, err
			}
		}
		applied = true
		d.apply(c, s.o.Leases.Now()+s.ttl.Microseconds())
		return protocol.Outcome{
			Position: protocol.Position{Number: d.Number, Wrote: true}, Done: true,
			Now: d.view(id),
		}, true, nil
	}, func(err error) {
		//mutant:static-failed
		if applied && (c.Owner == protocol.OwnerFreed || c.Owner == protocol.OwnerTaken && err != nil) {
			s.o.Leases.Free(id)
		}
	})
}

// Leases implements [protocol.Session].
func (s *session) Leases(_ context.Context, holders []protocol.Holder) (leases []protocol.Lease) {
	for _, h := range holders {
		if l, ok := h.Lease.(protocol.Lease); ok {
			leases = append(leases, l)
		}
	}
	return leases
}

// List implements [protocol.Session]. It needs no more than the right to read.
func (s *session) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	if s.o.Path == "" && slots {
		return nil, errNoFile
	}
	return with(ctx, s, look, func(d *State) (*protocol.Listing, bool, error) {
		l := &protocol.Listing{
			Position: protocol.Position{Number: d.Number}, Meta: d.Meta,
			Owned: slices.Sorted(maps.Keys(d.Marks)),
		}
		for _, id := range slices.Sorted(maps.Keys(d.Slots)) {
			l.Slots = append(l.Slots, d.Slots[id].Record)
		}
		return l, false, nil
	}, nil)
}

// Watch implements [protocol.Session]. It looks at the file now and then.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	for looks := time.Tick(min(s.ttl/3, time.Second)); v.Owned; {
		select {
		case <-ctx.Done():
			return false
		case <-looks:
		}
		if now, err := s.Look(ctx, v.Slot.Record.Worker, s.token); err == nil && now.Lease != v.Lease {
			return true
		}
	}
	return true
}

// Holds implements [protocol.Session].
func (s *session) Holds(v *protocol.View) bool {
	return v.Owned && s.o.Leases.Holds(v.Slot.Record.Worker)
}

// Time implements [protocol.Session].
func (s *session) Time() protocol.Span {
	now := clock.Fresh(s.o.Clock)
	return protocol.Span{Low: now, High: now}
}

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
	s.o.Leases.End()
}
