package kubernetes

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// finish gives all slots the last change of the namespace's record, which is done then. A slot
// that has it is left alone; one that is damaged cannot be written by anybody.
func (s *store) finish(ctx context.Context, a *all) error {
	var todo []int
	for id := range a.meta.Count {
		if a.slots[id] == nil && a.meta.Mend {
			todo = append(todo, id)
		}
	}
	for _, id := range a.ids() {
		if o := a.slots[id]; o.damage == nil && (o.Change < a.meta.Change || a.meta.Mend && o.copied()) {
			todo = append(todo, id)
		}
	}
	rand.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] }) // others may do the same
	if err := each(len(todo), func(i int) error {
		return s.pass(ctx, a.meta, a.slots[todo[i]], todo[i], a.meta.Mend)
	}); err != nil {
		return err
	}
	c := a.meta.next()
	c.Done, c.Change = a.meta.Change, max(a.meta.Change, a.newest())
	if c.Change != a.meta.Change { // a record of before a loss was put back: what is done is not enough
		c.Done, c.Change = c.Change, c.Change+1
	}
	_, err := s.write(ctx, a.meta, c, nil) // if it was changed, whoever did so has finished, or the next list tells
	return err
}

// errGone says that a slot was lost while it was to be changed.
var errGone = errors.New("a slot is gone")

// pass gives a slot the last change of the namespace's record. A slot is lost that is not there, or has the content of
// another one: with mend it is made, without a window, or says whose content it is from then on. One that is not counted
// and was never granted may not say that yet: whoever has made it may have died.
func (s *store) pass(ctx context.Context, meta, o *object, worker int, mend bool) error {
	record, err := entry[protocol.Meta](meta)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if o == nil && mend {
			if o, _, err = s.create(ctx, s.slotName(worker), worker, content{Change: meta.Change, Floor: record.Record.Floor}); err != nil {
				return err
			}
		}
		lost := o == nil || o.copied() && (mend || worker < meta.Count || o.ever())
		switch {
		case lost && !mend: // which the next survey finds: it is not to be hidden by a write
			return errGone
		case !lost && (o.damaged() || o.Change >= meta.Change):
			return nil
		case o != nil:
			done, err := s.touch(ctx, o, meta.Change, record.Record.Floor)
			if err != nil || done {
				return err
			}
		}
		if err := lifetime.Pause(ctx, n); err != nil {
			return err
		}
		if o, _, err = s.get(ctx, s.slotName(worker)); err != nil {
			return err
		}
	}
}

// commitMeta changes the namespace's record. It is done when every slot has the change.
func (s *session) commitMeta(ctx context.Context, change protocol.Change) (out protocol.Outcome, _ error) {
	before := fromRaw(s.metaName(), change.Before.Meta.Raw)
	if before == nil {
		return out, nil // the namespace was not there
	}
	if before.damage != nil {
		return out, before.damage
	}
	if change.Unused {
		if a, err := s.list(ctx); err != nil || a.used() > 0 {
			return out, err
		}
	}
	record, err := protocol.Encode(*change.Meta)
	if err != nil {
		return out, err
	}
	c := before.next()
	c.Mend = change.Settle && !change.Unused || before.Mend && before.Change != before.Done
	c.Change, c.Record = before.Change+1, []byte(record)
	if change.Settle { // slots may have seen what the record has forgotten
		a, err := s.list(ctx)
		if err != nil {
			return out, err
		}
		c.Change = max(c.Change, a.newest()+1)
	}
	done, err := s.write(ctx, before, c, nil)
	if err != nil || done == nil {
		return out, err
	}
	s.relist(nil)
	for {
		a, err := s.list(ctx)
		switch {
		case err != nil:
			return out, err
		case a.meta == nil:
			return out, s.errNoNamespace()
		case a.meta.damage != nil:
			return out, a.meta.damage
		case a.meta.Change < done.Change || a.meta.Done >= done.Change && !same(a.meta, done):
			return out, nil // it went back to an earlier state, or was changed since: the next survey tells
		case a.meta.Done < done.Change:
			if err := s.finish(ctx, a); err != nil {
				return out, err
			}
			continue
		case change.Unused && a.used() > 0:
			return out, nil // it was used before every slot had the change
		}
		now := &protocol.View{}
		if now.Meta, err = entry[protocol.Meta](a.meta); err != nil {
			return out, err
		}
		return protocol.Outcome{Done: true, Now: now}, nil
	}
}

// same reports whether two states of the namespace's object have the same record.
func same(o, p *object) bool {
	a, err := entry[protocol.Meta](o)
	b, other := entry[protocol.Meta](p)
	return err == nil && other == nil && a.Record == b.Record
}
