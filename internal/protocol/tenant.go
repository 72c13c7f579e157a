package protocol

import (
	"cmp"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// tenant is one token: an acquisition, and the grant that came of it. It has a session of
// its own, which ends when no call has used it for a TTL: a back end may keep a lease
// alive for as long as there is a session, and a lease ends if nobody renews it.
type tenant struct {
	token   string
	ttl     time.Duration // 0: only the slot tells, and the session is one that an operator has
	workers int           // for which answers have room
	session Session
	users   int // calls that are under way
	idle    *time.Timer
	gone    bool

	view   *View   // what is stored, as was seen last; nil: it is not known, or nothing is held
	unsure bool    // there was a change since, and what became of it is not known
	survey *Survey // of an acquisition that got no further in its time
}

// enter returns the tenant of a token, which is made if need be, with a session that is
// not over. The caller calls leave.
func (c *Coordinator) enter(token string, ttl time.Duration, workers int) (*tenant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[token]
	if t == nil {
		t = &tenant{token: token, ttl: ttl, workers: workers}
	}
	if t.ttl == 0 && ttl != 0 {
		t.ttl = ttl
		t.session.End()
	}
	if err := c.reopen(t); err != nil {
		return nil, err
	}
	c.tenants[token] = t
	t.users++
	if t.idle != nil {
		t.idle.Stop()
	}
	return t, nil
}

// reopen makes sure that a tenant has a session that is not over. The caller holds mu.
func (c *Coordinator) reopen(t *tenant) error {
	if t.session != nil && t.session.Over() == nil {
		return nil
	}
	token := t.token
	if t.ttl == 0 {
		token = ""
	}
	s, err := c.store.Open(token, cmp.Or(t.ttl, c.usualTTL()), t.workers)
	if err != nil {
		return err
	}
	t.session, t.survey = s, nil
	return nil
}

// lasts reports whether a tenant's session lasts for a TTL. If it does not, it is ended, and
// the next one does.
func (c *Coordinator) lasts(t *tenant, ttl time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.ttl == ttl {
		return true
	}
	t.ttl = ttl
	t.session.End()
	return false
}

// leave ends the use of a tenant by a call.
func (c *Coordinator) leave(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	if t.gone {
		t.session.End() // another call may have opened it since
		return
	}
	t.idle = time.AfterFunc(cmp.Or(t.ttl, c.usualTTL()), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.users == 0 {
			c.evict(t)
		}
	})
}

// drop ends a tenant: what it holds is free, or somebody else's.
func (c *Coordinator) drop(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(t)
}

// evict is drop for who holds mu.
func (c *Coordinator) evict(t *tenant) {
	if t.gone {
		return
	}
	t.gone = true
	if t.idle != nil {
		t.idle.Stop()
	}
	if c.tenants[t.token] == t {
		delete(c.tenants, t.token)
	}
	t.session.End()
}

// adopt notes what a tenant holds now, and what was asked for before; nil: that is not known.
func (c *Coordinator) adopt(t *tenant, v *View, before *Extent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := v.Slot.Record
	if last := t.view; before == nil && last != nil && last.Slot.Record.Worker == slot.Worker && last.Slot.Record.Holds(slot.Token, slot.Generation) {
		before = last.extent
	}
	if v.extent == nil {
		v.extent = cmp.Or(before, NewExtent(slot.NotAfter))
	}
	v.extent.Reaches(slot.NotAfter)
	t.view, t.unsure = v, false
}

// doubtful notes that it is not known what became of a change.
func (c *Coordinator) doubtful(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.unsure = true
}

// newest returns the newest view that is known of a grant: the one that came with it, or
// what a call has seen since of which the caller did not learn. Nil: it has to be read.
func (c *Coordinator) newest(t *tenant, known *View) *View {
	c.mu.Lock()
	last, unsure := t.view, t.unsure
	c.mu.Unlock()
	if unsure {
		return nil
	}
	v := c.fresh(known)
	if last = c.fresh(last); last != nil && (v == nil || last.Slot.Version > v.Slot.Version) {
		v = last
	}
	return v
}

// viewOf is the view of a tenant that holds a grant; nil: there is none.
func (c *Coordinator) viewOf(t *tenant, g coord.Grant) *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.view == nil || !t.view.holds(g) {
		return nil
	}
	return t.view
}

// fresh is v if nothing was lost since it was read: what a holder keeps of the time before
// a loss is not what is stored, however high its version is.
func (c *Coordinator) fresh(v *View) *View {
	if v == nil || !c.detector.sound(v.losses) {
		return nil
	}
	return v
}
