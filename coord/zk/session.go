package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

var (
	// errExpired says that the servers have ended a session.
	errExpired = errors.New("the session has expired")
	// errSilent says that there was no connection for so long that the session is over
	// or as good as over.
	errSilent = errors.New("there was no connection for as long as the session lasts without one")
	// errEnded says that a session is not needed any more.
	errEnded = errors.New("the session was ended")
)

const (
	// sendRoom is the longest request. The client sets it aside for each connection.
	sendRoom = 64 << 10
	// answerRoom is how long an answer may be besides the names of worker IDs.
	answerRoom = 128 << 10
	// nameRoom is how long an answer may be for each worker ID.
	nameRoom = 16
)

// session is a session with the ensemble, and the client that keeps it connected. It
// serves one grant: when it ends, what it holds is free. The client would open
// another session by itself then, and make requests of the old one in it; here, it
// finds no server any more.
type session struct {
	*store
	conn  *client.Conn
	hosts *hosts
	ttl   time.Duration // of an operator's session, that which the server has made of it
	free  bool          // any TTL will do: it is an operator's, who holds nothing
	limit int           // the longest answer
	lane  chan struct{} // has one element unless requests are being sent
	sent  chan struct{} // has one after a request was sent

	ended context.Context // its cause says why the session is over
	end   context.CancelCauseFunc

	mu        sync.Mutex
	id        int64         // 0: not yet
	ready     chan struct{} // closed while there is a connection with the session
	up        bool          // ready is closed
	mute      error         // why nothing is sent any more; nil: it is
	trouble   error         // why there is no connection
	handshake time.Duration // how long the answer to the request for a session may take
	foreign   int           // how many of the last servers were something else
	silent    *time.Timer   // runs while there is no connection

	serverTime int64     // the leader's clock at the last write, microseconds since 1970
	timeAt     time.Time // when that was learned

	identity atomic.Pointer[protocol.Entry[protocol.Pointer]] // as the last survey has read it; nil: it has not
}

// Open implements [protocol.Store]. The session begins to connect.
func (st *store) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s := &session{
		store: st, ttl: ttl, free: token == "", handshake: shortestHandshake(ttl), limit: answerRoom + nameRoom*workers,
		lane: make(chan struct{}, 1), sent: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	s.lane <- struct{}{}
	s.ended, s.end = context.WithCancelCause(context.Background())
	s.hosts = newHosts(s.ended, st.servers)
	conn, _, err := client.Connect(st.servers, ttl,
		client.WithHostProvider(s.hosts),
		client.WithDialer(s.dial),
		client.WithEventCallback(s.event),
		client.WithLogger(slog.NewLogLogger(st.log.With("of", "zookeeper client").Handler(), slog.LevelDebug)),
		client.WithLogInfo(st.log.Enabled(context.Background(), slog.LevelDebug)),
		client.WithMaxConnBufferSize(sendRoom),
		client.WithMaxBufferSize(s.limit))
	if err != nil {
		s.end(err)
		return nil, err
	}
	s.conn = conn
	if !st.life.Spawn(func() { s.wait(st.life.Context()) }) {
		s.over(false, coord.ErrClosed)
		conn.Close()
		return nil, coord.ErrClosed
	}
	return s, nil
}

// dial makes a connection to a server, for the client.
func (s *session) dial(_, address string, _ time.Duration) (net.Conn, error) {
	conn, err := s.hosts.dial(address)
	if err != nil {
		s.failed(err)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = conn.SetDeadline(deadline(s.handshake)) // of a connection that has ended, the next call tells
	return &wire{Conn: conn, of: s, limit: s.limit, login: s.login, pending: pending{ttl: s.ttl}}, nil
}

// shortestHandshake is how long the answer to the request for a session may take at first.
func shortestHandshake(ttl time.Duration) time.Duration { return max(ttl/5, dialTime) }

// failed implements [observer]. After a connection that was given up for its silence, the
// next has twice the time to answer. If all servers turn out to be something else, there
// will never be a session.
func (s *session) failed(err error) {
	s.mu.Lock()
	switch {
	case errors.Is(err, errUnanswered):
		s.handshake = min(2*s.handshake, s.ttl)
	case errors.Is(err, errSilence):
		s.handshake = max(2*s.ttl/silentPart, s.handshake)
	}
	s.trouble = err
	s.foreign++
	if !errors.Is(err, errForeign) {
		s.foreign = 0
	}
	hopeless := s.id == 0 && s.foreign >= s.hosts.Len()
	s.mu.Unlock()
	if hopeless {
		s.over(false, err)
	}
}

// sends implements [observer].
func (s *session) sends(request bool) error {
	if request {
		select {
		case s.sent <- struct{}{}:
		default:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mute
}

// greeted implements [observer]. A server that makes the session shorter or longer than
// asked changes the TTL: that is no lease that anybody configured. An operator has none.
func (s *session) greeted(g greeting) {
	if g.session == 0 {
		s.over(false, errExpired)
		return
	}
	s.mu.Lock()
	s.id = g.session
	if s.free && g.timeout > 0 {
		s.ttl = g.timeout
	}
	ttl := s.ttl
	s.handshake = min(max(shortestHandshake(s.ttl), slack*g.took), s.ttl)
	s.mu.Unlock()
	if g.timeout == ttl {
		return
	}
	s.over(true, fmt.Errorf("%w: TTL is %v; the ZooKeeper server makes it %v: its bounds are minSessionTimeout and maxSessionTimeout, by default 2 and 20 times its tickTime; choose a TTL within them", coord.ErrInvalid, ttl, g.timeout))
}

// event is told by the client what happens. It does not block: the client's
// goroutines call it.
func (s *session) event(e client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type != client.EventSession || s.ended.Err() != nil:
	case e.State == client.StateHasSession && !s.up:
		if s.silent != nil {
			s.silent.Stop()
		}
		s.up, s.silent, s.trouble = true, nil, nil
		close(s.ready)
	case e.State == client.StateDisconnected:
		if s.up {
			s.up, s.ready = false, make(chan struct{})
		}
		if s.id != 0 && s.silent == nil {
			s.silent = time.AfterFunc(s.ttl, func() { s.over(false, errSilent) })
		}
	}
}

// over ends the session. With farewell it is ended on the servers as well, if they
// can be reached, and what it holds is deleted; without, it ends there by itself.
func (s *session) over(farewell bool, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !farewell {
		s.mute = why
	}
	s.end(why)
}

// wait blocks until the session or the coordinator is over, and then until the
// client has ended, for up to 3 s if the servers do not answer.
func (s *session) wait(coordinator context.Context) {
	select {
	case <-s.ended.Done():
	case <-coordinator.Done():
		s.over(false, coord.ErrClosed)
	}
	s.conn.Close()
}

// await waits until there is a connection.
func (s *session) await(ctx context.Context) error {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if err := s.Over(); err != nil {
		return err
	}
	return s.until(ctx, ready, nil)
}

// why adds to the error of a request what is known of the connection.
func (s *session) why(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || s.trouble == nil {
		return err
	}
	return &unreachedError{err, s.trouble}
}

// unreachedError is why a call got no answer, and why there is no connection.
type unreachedError struct{ cause, trouble error }

func (e *unreachedError) Error() string   { return e.cause.Error() + " (" + e.trouble.Error() + ")" }
func (e *unreachedError) Unwrap() []error { return []error{e.cause, e.trouble} }

// tick takes note of the leader's clock at a write, in milliseconds.
func (s *session) tick(milli int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serverTime, s.timeAt = milli*1000, lifetime.Now()
}

// Time implements [protocol.Session]: the leader's clock.
func (s *session) Time() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serverTime == 0 {
		return 0
	}
	return s.serverTime + lifetime.Since(s.timeAt).Microseconds()
}

// ident returns the session's ID.
func (s *session) ident() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Over implements [protocol.Session].
func (s *session) Over() error { return context.Cause(s.ended) }

// End implements [protocol.Session]. What the session holds is free then.
func (s *session) End() { s.over(true, errEnded) }
