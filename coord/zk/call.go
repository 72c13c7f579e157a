package zk

import (
	"context"
	"errors"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// request is one request to the servers.
type request func(*client.Conn) reply

// reply is the answer to a request; what it has depends on the request.
type reply struct {
	err      error
	data     []byte
	stat     *client.Stat
	children []string
	acl      []client.ACL
	events   <-chan client.Event // of a watch
	results  []client.MultiResponse
}

func get(path string) request {
	return func(c *client.Conn) (r reply) {
		r.data, r.stat, r.err = c.Get(path)
		return r
	}
}

func getACL(path string) request {
	return func(c *client.Conn) (r reply) {
		r.acl, r.stat, r.err = c.GetACL(path)
		return r
	}
}

func set(path string, data []byte) request {
	return func(c *client.Conn) (r reply) {
		r.stat, r.err = c.Set(path, data, -1)
		return r
	}
}

func exists(path string) request {
	return func(c *client.Conn) (r reply) {
		var there bool
		if there, r.stat, r.err = c.Exists(path); r.err == nil && !there {
			r.err = client.ErrNoNode
		}
		return r
	}
}

// watch is exists with a watch.
func watch(path string) request {
	return func(c *client.Conn) (r reply) {
		var there bool
		if there, r.stat, r.events, r.err = c.ExistsW(path); r.err == nil && !there {
			r.err = client.ErrNoNode
		}
		return r
	}
}

func children(path string) request {
	return func(c *client.Conn) (r reply) {
		r.children, r.stat, r.err = c.Children(path)
		return r
	}
}

func create(path string, acl []client.ACL) request {
	return func(c *client.Conn) (r reply) {
		_, r.err = c.Create(path, nil, client.FlagPersistent, acl)
		return r
	}
}

// catchUp has the server that the session is connected to catch up with the leader.
func catchUp(path string) request {
	return func(c *client.Conn) (r reply) {
		_, r.err = c.Sync(path)
		return r
	}
}

func multi(ops []any) request {
	return func(c *client.Conn) (r reply) {
		r.results, r.err = c.Multi(ops...)
		return r
	}
}

// deadline is the end of a network operation.
func deadline(d time.Duration) time.Time { return lifetime.Now().Add(d) }

// together makes requests, in their order and without waiting for answers in
// between: servers handle those of a session one after the other, so reads see what a
// write before them has done, and all of them cost one round trip. The error is that
// of the connection; what servers say is in the replies.
//
// A request has no deadline in the client: it waits for a connection for as long as
// that takes. So each is made in a goroutine, which is left alone when ctx ends; it
// ends with the answer or with the connection. A request that is left alone may still
// be carried out, as one that is delayed by the network may be, but not after those
// that are made later: what is not sent yet keeps the lane.
func (s *session) together(ctx context.Context, requests ...request) ([]reply, error) {
	if err := s.until(ctx, s.lane, nil); err != nil {
		return nil, err
	}
	free := func() { s.lane <- struct{}{} }
	if err := s.await(ctx); err != nil {
		free()
		return nil, err
	}
	calls := make([]*call, len(requests))
	for i, do := range requests {
		calls[i] = s.start(do)
		if err := s.until(ctx, s.sent, calls[i].done); err != nil {
			go func() {
				_ = s.until(s.ended, s.sent, calls[i].done)
				free()
			}()
			return nil, err
		}
	}
	free()
	return s.answers(ctx, calls)
}

// call is a request that was made.
type call struct {
	reply
	done chan struct{} // closed with the reply
}

// start makes a request. When it is sent, s.sent says so: the lane is held.
func (s *session) start(do request) *call {
	select {
	case <-s.sent: // that of an earlier one, whose answer was seen first
	default:
	}
	c := &call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.reply = do(s.conn)
	}()
	return c
}

// answers waits for the replies to calls.
func (s *session) answers(ctx context.Context, calls []*call) ([]reply, error) {
	replies := make([]reply, len(calls))
	var lost error
	for i, c := range calls {
		if err := s.until(ctx, c.done, nil); err != nil {
			return nil, err
		}
		replies[i] = c.reply
		if c.err != nil && !definite(c.err) {
			lost = c.err
		}
	}
	return replies, s.why(lost)
}

// until blocks until one of two channels is ready. The error is that of the session or
// of ctx, if that ends before.
func (s *session) until(ctx context.Context, this, that <-chan struct{}) error {
	select {
	case <-this:
		return nil
	case <-that:
		return nil
	case <-s.ended.Done():
		return s.Over()
	case <-ctx.Done():
		return s.why(context.Cause(ctx))
	}
}

// definite reports whether a server has answered with an error, of these if any are
// given. After all other errors the outcome is unknown.
func definite(err error, which ...error) bool {
	if len(which) == 0 {
		which = []error{
			client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion, client.ErrNoAuth, client.ErrInvalidACL,
			client.ErrNotEmpty, client.ErrNoChildrenForEphemerals, client.ErrBadArguments, client.ErrInvalidPath,
		}
	}
	for _, w := range which {
		if errors.Is(err, w) {
			return true
		}
	}
	return false
}
