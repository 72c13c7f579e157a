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
	ttl     time.Duration
	workers int // for which answers have room
	session Session
	users   int // calls that are under way
	idle    *time.Timer

	view   *View   // what is stored, as was seen last; nil: it is not known, or nothing is held
	unsure bool    // there was a change since, and what became of it is not known
	survey *Survey // of an acquisition that got no further in its time
	waits  bool    // the last acquisition found every worker ID held, or another layout
}

// waitingTime is how long the session of a tenant that waits for a worker ID is kept between two
// acquisitions. It is longer than any pause of a keeper.
const waitingTime = time.Minute

// enter returns the tenant of a token, which is made if need be, with a session that is
// not over. The caller calls leave.
func (c *Coordinator) enter(token string, ttl time.Duration, workers int) (*tenant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[token]
	if t == nil {
		t = &tenant{token: token, ttl: ttl, workers: workers}
	}
	if err := c.reopen(t); err != nil {
		return nil, err
	}
	if t.idle == nil {
		t.idle = time.AfterFunc(t.ttl, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if t.users == 0 {
				c.evict(t)
			}
		})
	}
	t.idle.Stop()
	t.users++
	c.tenants[token] = t
	return t, nil
}

// reopen makes sure that a tenant has a session that is not over. The caller holds mu.
func (c *Coordinator) reopen(t *tenant) error {
	if t.session != nil && t.session.Over() == nil {
		return nil
	}
	s, err := c.store.Open(t.token, t.ttl, t.workers) //mutant:session-room
	if err != nil {
		return err
	}
	t.session, t.survey = s, nil
	return nil
}

// leave ends the use of a tenant by a call. A coordinator that holds nothing keeps no connections.
func (c *Coordinator) leave(t *tenant) {
	if c.left(t) {
		c.rest() //mutant:rest
	}
}

// left is leave without its last step, and reports whether that is due: no call of a tenant is
// under way, and none holds a worker ID.
func (c *Coordinator) left(t *tenant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.users--
	if t.users == 0 {
		c.idles(t)
	}
	for _, other := range c.tenants {
		if other.users > 0 || other.view != nil {
			return false
		}
	}
	return true
}

// idles ends the session of a tenant that no call uses, now or after a while. The caller holds mu.
func (c *Coordinator) idles(t *tenant) {
	if c.tenants[t.token] != t {
		t.session.End() // another call may have opened it since
		return
	}
	idle := t.ttl
	if t.waits {
		idle = max(idle, waitingTime)
	}
	t.idle.Reset(idle)
}

// drop ends a tenant: what it holds is free, or somebody else's.
func (c *Coordinator) drop(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(t)
}

// evict is drop for who holds mu.
func (c *Coordinator) evict(t *tenant) {
	t.idle.Stop()
	if c.tenants[t.token] == t {
		delete(c.tenants, t.token)
	}
	t.session.End()
}

// adopt notes what a tenant holds now, and what was asked for before; nil: that is not known.
func (c *Coordinator) adopt(t *tenant, v *View, before *extent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before == nil && t.view != nil && t.view.holds(v.grant()) {
		before = t.view.extent
	}
	v.extent = cmp.Or(v.extent, before, new(extent))
	v.extent.reaches(v.Slot.Record.NotAfter)
	t.view, t.unsure = v, false
}

// doubtful notes that it is not known what became of a change.
func (c *Coordinator) doubtful(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.unsure = true
}

// viewOf returns the newest view of a grant that is known: what a call has seen, of which the
// caller may not have learned, or what has come with it; nil: there is none. Sure says that it
// is what is stored, as far as is known.
func (c *Coordinator) viewOf(g coord.Grant) (v *View, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ = g.Handle.(*View)
	t := c.tenants[g.Token]
	if t != nil && t.view != nil && t.view.holds(g) {
		v = t.view
	}
	if v == nil || !v.holds(g) {
		return nil, false
	}
	return v, t == nil || !t.unsure
}
