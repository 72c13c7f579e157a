package zk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/protocol"
)

// request makes one request to the servers. What it has read is there if [session.together]
// returns nil or what a server has answered, see definite; otherwise it may still be written.
type request func(*client.Conn) error

// record reads a record into e, which is zero if there is no node.
func record[R protocol.Record](st *store, path string, e *protocol.Entry[R]) request {
	return func(c *client.Conn) error {
		value, stat, err := c.Get(path)
		switch {
		case is(err, client.ErrNoNode):
			*e = protocol.Entry[R]{} // an earlier attempt may have found it
			return nil
		case err != nil:
			return st.refused(path, err)
		}
		rec, err := protocol.Decode[R](value)
		if err != nil {
			return damaged(path, err)
		}
		*e = protocol.Entry[R]{Record: rec, Raw: value, Version: int64(stat.Version), Made: stat.Czxid}
		return nil
	}
}

// names reads the names of the children of a node that is part of every namespace.
func names(path string, all *[]string) request {
	return func(c *client.Conn) (err error) {
		*all, _, err = c.Children(path)
		if is(err, client.ErrNoNode) {
			err = damaged(path, errMissing)
		}
		return err
	}
}

// exists reads what is known of a node beside its value; nil: it is not there.
func exists(path string, at **client.Stat) request {
	return func(c *client.Conn) error {
		there, stat, err := c.Exists(path)
		if *at = nil; there {
			*at = stat
		}
		return err
	}
}

// together makes requests in any order, in one round trip. The error is that of the first of
// them that has one, or of the connection.
//
// A request has no deadline in the client: it waits for a connection for as long as that
// takes. So goroutines make them, which are left alone when ctx ends, and end with the answer
// or with the connection. Until then, no others are made in the session: what is left alone
// may still be carried out, as what is delayed by the network may be, but not after what is
// asked for later.
func (s *session) together(ctx context.Context, requests ...request) error {
	s.reclaim()
	err := s.undisturbed(ctx, requests)
	if ctx.Err() != nil {
		s.forsake()
	}
	if is(err, client.ErrNoAuth) {
		s.relogin()
	}
	return s.explain(ctx, err)
}

func (s *session) undisturbed(ctx context.Context, requests []request) error {
	if err := s.until(ctx, s.lane); err != nil {
		return err
	}
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if err := s.until(ctx, ready); err != nil {
		s.lane <- struct{}{}
		return err
	}
	errs, done := make([]error, len(requests)), make(chan struct{})
	go func() {
		var all sync.WaitGroup
		for i, do := range requests {
			all.Go(func() { errs[i] = do(s.conn) })
		}
		all.Wait()
		s.lane <- struct{}{}
		close(done)
	}()
	if err := s.until(ctx, done); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// mostForsaken is how many sessions are kept for a TTL that hold nothing, as far as is known.
	mostForsaken = 8
	// forsakenTime is how long a call may be away before it is made again.
	forsakenTime = 2 * time.Second
)

// forsake notes that a call was given up: another one with the same token may go on from there.
// A session that nobody uses again soon is ended if there are many.
func (s *session) forsake() {
	if s.held.Load() || !s.idle.CompareAndSwap(false, true) {
		return
	}
	s.forsaken.Add(1)
	time.AfterFunc(forsakenTime, func() {
		if s.forsaken.Load() > mostForsaken && s.reclaim() { //mutant:zk-forsaken
			s.End()
		}
	})
}

// reclaim notes that the session is used again, or has ended, and reports whether it was not
// used before.
func (s *session) reclaim() bool {
	idle := s.idle.CompareAndSwap(true, false)
	if idle {
		s.forsaken.Add(-1)
	}
	return idle
}

// until blocks until a channel is ready. The error is that of the session or of ctx, if that
// ends before.
func (s *session) until(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-s.ended.Done():
		return s.Over()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// definite reports whether a server has answered with an error. After all other errors the
// outcome is unknown.
func definite(err error) bool {
	return is(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion, client.ErrNoAuth,
		client.ErrInvalidACL,
		client.ErrNotEmpty, client.ErrNoChildrenForEphemerals, client.ErrBadArguments,
		client.ErrInvalidPath)
}

// is reports whether an error is one of some.
func is(err error, some ...error) bool {
	return slices.ContainsFunc(some, func(one error) bool { return errors.Is(err, one) })
}
