package zk

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// incarnation is one token: an acquisition, and the grant that came of it. It has a
// session of its own.
type incarnation struct {
	token string
	turn  chan struct{} // held by the call that is under way

	// Guarded by the turn.
	session *session
	view    *view   // what is stored, as was seen last; nil: nothing is held
	unsure  bool    // there was a transaction since, and what became of it is not known
	survey  *survey // of an acquisition that got no further in its time

	// Guarded by the coordinator's mu.
	gone bool
	hint *session // whose end is the hint
}

// enter waits for its turn with a token's incarnation, which is made if need be.
// Whoever has entered leaves.
func (c *Coordinator) enter(ctx context.Context, token string) (*incarnation, error) {
	for {
		c.mu.Lock()
		inc := c.incarnations[token]
		if inc == nil {
			inc = &incarnation{token: token, turn: make(chan struct{}, 1)}
			c.incarnations[token] = inc
		}
		c.mu.Unlock()
		select {
		case inc.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		c.mu.Lock()
		gone := inc.gone
		c.mu.Unlock()
		if !gone {
			if inc.session != nil {
				inc.session.busy()
			}
			return inc, nil
		}
		<-inc.turn
	}
}

// leave ends a turn. What holds nothing is forgotten. What holds a grant is left alone
// for as long as its TTL: the client would keep the session alive for ever, and a
// lease ends when nobody renews it.
func (c *Coordinator) leave(inc *incarnation) {
	c.mu.Lock()
	inc.hint = inc.session
	if inc.view == nil && inc.session == nil {
		inc.gone = true
		if c.incarnations[inc.token] == inc {
			delete(c.incarnations, inc.token)
		}
	}
	if inc.session != nil {
		inc.session.idle()
	}
	c.mu.Unlock()
	<-inc.turn
}

// tidy is called when a session of an incarnation is over, for whatever reason. It forgets
// the incarnation if that holds nothing that is known of and has no other session.
func (c *Coordinator) tidy(inc *incarnation) {
	inc.turn <- struct{}{}
	if inc.view == nil && inc.session != nil && inc.session.life.Err() != nil {
		inc.session = nil
	}
	c.leave(inc)
}

// drop ends the session of an incarnation, and what it holds.
func (c *Coordinator) drop(inc *incarnation) {
	if inc.session != nil {
		inc.session.over(true, errEnded)
	}
	inc.session, inc.view, inc.unsure, inc.survey = nil, nil, false, nil
}

// connected makes sure that an incarnation has a session that is not over, and
// returns its ID.
func (c *Coordinator) connected(ctx context.Context, inc *incarnation, ttl time.Duration, workers int) (int64, error) {
	if inc.session != nil && inc.session.life.Err() != nil {
		inc.session = nil
	}
	if inc.session == nil {
		s, err := c.newSession(ttl, workers)
		if err != nil {
			return 0, err
		}
		inc.session = s
		context.AfterFunc(s.life, func() { c.tidy(inc) })
	}
	return inc.session.await(ctx)
}

// Lost implements [coord.Notifier]: the channel is closed when the session of g has
// ended, or when its owner node is deleted. What it needs is the session's own.
func (c *Coordinator) Lost(g coord.Grant) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	inc := c.incarnations[g.Token]
	if inc == nil || inc.hint == nil {
		return make(chan struct{}) // no hint will come
	}
	s, path := inc.hint, c.nodes.owner(g.WorkerID)
	if s.watches(path) {
		c.life.Spawn(func() { c.watch(s, path) })
	}
	return s.lost()
}

// watches tells whether the session has to be told to watch a node, which it then
// has.
func (s *session) watches(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched == path {
		return false
	}
	s.watched = path
	return true
}

// lost is closed as the hint.
func (s *session) lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// watch asks the servers to tell when an owner node goes. Where that fails, there is
// no hint: the next renewal finds out.
func (c *Coordinator) watch(s *session, path string) {
	ctx, cancel := context.WithTimeout(c.life.Context(), s.ttl)
	defer cancel()
	replies, err := s.together(ctx, watch(path))
	if err == nil && replies[0].err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tell()
	}
}
