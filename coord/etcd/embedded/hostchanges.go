package embedded

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// moveTime is how long a call waits for the folder to be taken over. It takes a tenth
// of a second if somebody is there who can.
const moveTime = 2 * time.Second

// hostChanges wakes calls that wait for the server to be elsewhere, and the one who looks
// where it is.
type hostChanges struct {
	look    chan struct{} // holds one value if somebody would like to know sooner
	timeout time.Duration // how long a call waits for a move

	mu    sync.Mutex // guards what follows
	next  chan struct{}
	ended bool
}

func newHostChanges() hostChanges {
	return hostChanges{look: make(chan struct{}, 1), timeout: moveTime, next: make(chan struct{})}
}

// wait returns a channel that is closed with the next move, and whether there will be
// any.
func (m *hostChanges) wait() (<-chan struct{}, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next, !m.ended
}

// tell wakes those who wait.
func (m *hostChanges) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		close(m.next)
		m.next = make(chan struct{})
	}
}

// end wakes those who wait, and lets nobody wait any more.
func (m *hostChanges) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	close(m.next)
}

// moving makes a call, and makes it again if its server has gone and there is another
// one. All calls of a coordinator may be repeated.
func (c *Coordinator) moving(ctx context.Context, call func() error) error {
	for {
		next, more := c.changes.wait()
		at := c.host.Load()
		err := call()
		if err == nil || !more || !unavailable(err) || !c.moved(ctx, at, next) {
			return c.explain(err)
		}
	}
}

// moved waits until the server is elsewhere than it was, and reports whether it is.
func (c *Coordinator) moved(ctx context.Context, was *post, next <-chan struct{}) bool {
	select {
	case c.changes.look <- struct{}{}:
	default:
	}
	timer := time.NewTimer(c.changes.timeout)
	defer timer.Stop()
	for more := true; more; {
		if at := c.host.Load(); at != nil && at != was {
			return true
		}
		select {
		case <-next:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
		next, more = c.changes.wait()
	}
	return false
}

// unavailable reports whether err says that there was no server, or none of this folder.
func unavailable(err error) bool {
	var server rpctypes.EtcdError
	if errors.As(err, &server) {
		return server.Code() == codes.Unavailable
	}
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.Unavailable
}
