package zk

import (
	"context"
	"errors"
	"slices"
	"time"

	client "github.com/go-zookeeper/zk"
)

// Operations of the protocol.
const (
	opCreate   = 1
	opDelete   = 2
	opExists   = 3
	opGet      = 4
	opSet      = 5
	opGetACL   = 6
	opSync     = 9
	opChildren = 12
	opMulti    = 14
	opAuth     = 100
)

// request is one request to the servers, and what it is called in the protocol.
type request struct {
	op int32
	do func(*client.Conn) reply
}

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
	return request{opGet, func(c *client.Conn) (r reply) {
		r.data, r.stat, r.err = c.Get(path)
		return r
	}}
}

func getACL(path string) request {
	return request{opGetACL, func(c *client.Conn) (r reply) {
		r.acl, r.stat, r.err = c.GetACL(path)
		return r
	}}
}

func set(path string, data []byte) request {
	return request{opSet, func(c *client.Conn) (r reply) {
		r.stat, r.err = c.Set(path, data, -1)
		return r
	}}
}

func exists(path string) request {
	return request{opExists, func(c *client.Conn) (r reply) {
		var there bool
		if there, r.stat, r.err = c.Exists(path); r.err == nil && !there {
			r.err = client.ErrNoNode
		}
		return r
	}}
}

// watch is exists with a watch.
func watch(path string) request {
	return request{opExists, func(c *client.Conn) (r reply) {
		var there bool
		if there, r.stat, r.events, r.err = c.ExistsW(path); r.err == nil && !there {
			r.err = client.ErrNoNode
		}
		return r
	}}
}

func children(path string) request {
	return request{opChildren, func(c *client.Conn) (r reply) {
		r.children, r.stat, r.err = c.Children(path)
		return r
	}}
}

func create(path string, flags int32, acl []client.ACL) request {
	return request{opCreate, func(c *client.Conn) (r reply) {
		_, r.err = c.Create(path, nil, flags, acl)
		return r
	}}
}

func remove(path string) request {
	return request{opDelete, func(c *client.Conn) reply { return reply{err: c.Delete(path, -1)} }}
}

// catchUp has the server that the session is connected to catch up with the leader.
func catchUp(path string) request {
	return request{opSync, func(c *client.Conn) (r reply) {
		_, r.err = c.Sync(path)
		return r
	}}
}

func multi(ops []any) request {
	return request{opMulti, func(c *client.Conn) (r reply) {
		r.results, r.err = c.Multi(ops...)
		return r
	}}
}

func login(user, password string) request {
	return request{opAuth, func(c *client.Conn) reply {
		return reply{err: c.AddAuth("digest", []byte(user+":"+password))}
	}}
}

// now and since measure how much time has passed on this machine.
func now() time.Time { return time.Now() } //nolint:forbidigo // for measuring how much time passes, which no clock that is set can tell

func since(t time.Time) time.Duration {
	return time.Since(t) //nolint:forbidigo // measures how much time has passed, which no clock that is set can tell
}

// deadline is the end of a network operation.
func deadline(d time.Duration) time.Time { return now().Add(d) }

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
	select {
	case s.lane <- struct{}{}:
	case <-s.ended.Done():
		return nil, context.Cause(s.ended)
	case <-ctx.Done():
		return nil, s.unreached(ctx)
	}
	if err := s.await(ctx); err != nil {
		<-s.lane
		return nil, err
	}
	g := &group{session: s, line: s.line(), answers: make(chan answer, len(requests))}
	for i, r := range requests {
		if err := g.start(ctx, i, r); err != nil {
			return nil, err
		}
	}
	<-s.lane
	return g.wait(ctx, len(requests))
}

// answer is the reply to the i-th request of a group.
type answer struct {
	i int
	reply
}

// group is requests that are made together.
type group struct {
	*session
	line    *wire
	got     []answer // so far
	answers chan answer
}

// start makes a request and returns when it was sent. If ctx ends before that, the
// lane is free again once it was.
func (g *group) start(ctx context.Context, i int, r request) error {
	before, _ := g.line.count(r.op)
	go func() { g.answers <- answer{i, r.do(g.conn)} }()
	err := g.sent(ctx, i, r.op, before)
	if err != nil && g.ended.Err() == nil {
		go func() {
			_ = g.sent(g.ended, i, r.op, before)
			<-g.lane
		}()
		return g.unreached(ctx)
	}
	return err
}

// sent waits until the i-th request was sent, which is of an operation of which so
// many were sent before it.
func (g *group) sent(ctx context.Context, i int, op int32, before int) error {
	for {
		n, bell := g.line.count(op)
		if n > before {
			return nil
		}
		select {
		case <-bell:
		case a := <-g.answers:
			// Of this request or of one before.
			g.got = append(g.got, a)
			if a.i == i {
				return nil
			}
		case <-g.ended.Done():
			return context.Cause(g.ended)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait collects the answers.
func (g *group) wait(ctx context.Context, want int) ([]reply, error) {
	for len(g.got) < want {
		select {
		case a := <-g.answers:
			g.got = append(g.got, a)
		case <-g.ended.Done():
			return nil, context.Cause(g.ended)
		case <-ctx.Done():
			return nil, g.unreached(ctx)
		}
	}
	slices.SortFunc(g.got, func(a, b answer) int { return a.i - b.i })
	replies := make([]reply, 0, want)
	var lost error
	for _, a := range g.got {
		if a.err != nil && !definite(a.err) {
			lost = a.err
		}
		replies = append(replies, a.reply)
	}
	return replies, g.why(lost)
}

// definite tells whether a server has answered with an error, of these if any are
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
