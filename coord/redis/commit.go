package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

// Commit implements [protocol.Session].
func (s *session) Commit(ctx context.Context, c protocol.Change) (out protocol.Outcome, err error) {
	worker := c.Worker()
	w, err := s.written(&c, worker)
	if err != nil {
		return out, err
	}
	a, err := s.do(ctx, request{Write: w, Get: fieldsOf(worker), id: w.ID})
	if err != nil {
		return out, err
	}
	//mutant:redis-done-before
	out = protocol.Outcome{Position: a.Position, Done: a.refused == "" || w.done(a)}
	if a.refused == refusedSlot {
		out.Conflict = protocol.ConflictSlot
	}
	out.Now, err = s.view(a, worker)
	return out, err
}

// done reports whether a write that was refused had been done before: the network may have
// delivered it twice. No other write stores the very same.
func (w *write) done(a *answer) bool {
	for _, field := range []string{fieldMeta, w.ID} {
		if value := w.Set[field]; value != "" {
			return a.refused != refusedLineage && a.values[field] == value
		}
	}
	return false
}

// written is what is written for a change, and what has to be so before.
func (s *session) written(c *protocol.Change, worker int) (w *write, err error) {
	before := c.Before
	w = &write{Meta: string(before.Meta.Raw), Unused: c.Unused, Set: map[string]string{}}
	if c.NoteLineage {
		w.Settles = before.Lineage
		w.Deadline = c.Deadline
	}
	if c.Meta != nil {
		if w.Set[fieldMeta], err = valueOf(before.Meta, *c.Meta); err != nil {
			return nil, err
		}
	}
	if worker < 0 {
		return w, nil
	}
	w.ID, w.Slot, w.Owned = strconv.Itoa(worker), string(before.Slot.Raw), before.Owned
	if c.Slot != nil {
		if w.Set[w.ID], err = valueOf(before.Slot, *c.Slot); err != nil {
			return nil, err
		}
		w.Opens = opens(before, c.Slot)
	}
	now, former := c.Identities()
	if now != "" {
		w.Set[identityPrefix+now] = w.ID
	}
	if former != "" {
		w.Del = append(w.Del, identityPrefix+former)
	}
	w.own(c)
	return w, nil
}

// opens returns from when on the window of a slot may end where it does, in microseconds since
// 1970: when that is MaxHorizon ahead. One that is empty, or ends where it did, gives nothing away.
func opens(before *protocol.View, slot *protocol.Slot) int64 {
	if slot.NotAfter <= max(before.Slot.Record.NotAfter, slot.NotBefore) {
		return 0
	}
	scale := before.Meta.Record.Scale()
	return scale.Micro(slot.NotAfter - scale.TicksUp(MaxHorizon.Microseconds()))
}

// own says what becomes of the owner mark, and of what leads to the worker ID.
func (w *write) own(c *protocol.Change) {
	old, millis := c.Before.Slot.Record, int64(0)
	switch {
	case c.Owner == protocol.OwnerTaken:
		millis = c.Slot.TTL
		if c.Token != c.Replaced {
			w.Token = c.Token
		}
		w.Set[tokenPrefix+c.Token] = w.ID
	case c.Owner == protocol.OwnerForever:
		millis, w.Holder = -1, "retired"
	case c.Owner == protocol.OwnerStays && (c.Slot == nil || !c.Before.Owned):
		return
	case c.Owner == protocol.OwnerStays:
		millis = c.Slot.TTL
	}
	w.Lease = &millis
	if millis > 0 {
		w.Holder = c.Slot.Holder + " since " + protocol.Time(c.Slot.Since).Format(time.RFC3339)
	}
	for _, token := range []string{old.Token, c.Replaced} {
		if token != "" && (token != c.Token || c.Owner == protocol.OwnerFreed) {
			w.Del = append(w.Del, tokenPrefix+token)
		}
	}
}
