package zk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
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
	token string
	conn  *client.Conn
	hosts *hosts
	ttl   time.Duration
	limit int           // the longest answer
	lane  chan struct{} // held while requests are under way

	ended context.Context // its cause says why the session is over
	end   context.CancelCauseFunc

	mu      sync.Mutex
	id      int64         // 0: not yet
	offered int64         // the ID in the last answer to the request for a session
	wire    *wire         // the last connection; nil: none was made yet
	ready   chan struct{} // closed while there is a connection with the session
	up      bool          // ready is closed
	trouble error         // why there is no connection
	shake   time.Duration // how long the answer to the request for a session may take
	foreign int           // how many of the last servers were something else
	silent  *time.Timer   // runs while there is none
	authed  bool          // credentials were accepted

	serverTime int64     // the leader's clock at the last write, microseconds since 1970
	timeAt     time.Time // when that was learned
	heard      int64     // the number of a transaction, in the last answer to a ping
	heardAt    time.Time

	identity protocol.Entry[workerRecord] // as the last survey has read it
}

// newSession begins to connect. The answers that it accepts have the names of up to
// so many worker IDs.
func (st *store) newSession(ttl time.Duration, workers int) (*session, error) {
	s := &session{
		store: st, ttl: ttl, shake: shortestShake(ttl), limit: answerRoom + nameRoom*workers, lane: make(chan struct{}, 1),
		ready: make(chan struct{}),
	}
	s.ended, s.end = context.WithCancelCause(context.Background())
	s.hosts = newHosts(s.ended, st.servers)
	conn, _, err := client.Connect(st.servers, ttl,
		client.WithHostProvider(s.hosts),
		client.WithDialer(s.dial),
		client.WithEventCallback(s.event),
		client.WithLogger(printer{st.log}),
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

// printer passes on what the client has to say.
type printer struct{ log *slog.Logger }

// Printf implements the client's Logger.
func (p printer) Printf(format string, args ...any) {
	p.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}

// dial makes a connection to a server, for the client.
func (s *session) dial(_, address string, _ time.Duration) (net.Conn, error) {
	conn, err := s.hosts.dial(address)
	if err != nil {
		s.worry(err)
		return nil, err
	}
	s.mu.Lock()
	shake := s.shake
	s.mu.Unlock()
	w, err := newWire(conn, s.limit, shake, s.ttl, s.greeted, s.saw, s.worry)
	if err != nil {
		_ = conn.Close()
		s.worry(err)
		return nil, err
	}
	s.mu.Lock()
	s.wire = w
	s.mu.Unlock()
	if s.ended.Err() != nil {
		w.hush()
	}
	return w, nil
}

// shortestShake is how long the answer to the request for a session may take at first.
func shortestShake(ttl time.Duration) time.Duration { return max(ttl/5, dialTime) }

// worry remembers what is wrong with the connection. After one that was given up for
// its silence, the next has twice the time to answer. If all servers turn out to be something else,
// there will never be a session.
func (s *session) worry(err error) {
	s.mu.Lock()
	switch {
	case errors.Is(err, errUnanswered):
		s.shake = min(2*s.shake, max(s.ttl, s.shake))
	case errors.Is(err, errSilence):
		s.shake = min(max(2*s.ttl/patience, s.shake), max(s.ttl, s.shake))
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

// saw remembers the number of the last transaction that a server had done when it answered
// to a ping.
func (s *session) saw(zxid int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.heardAt = zxid, now()
}

// position is that of a write that begins now, but for its number.
func (s *session) position() protocol.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return protocol.Position{Wrote: true, Heard: s.heard, HeardAt: s.heardAt}
}

// greeted is called with the answer to the request for a session. A server that
// makes the session shorter or longer than asked changes the TTL: that is no lease
// that anybody configured.
func (s *session) greeted(g greeting) {
	s.mu.Lock()
	s.offered = g.session
	s.shake = min(max(shortestShake(s.ttl), slack*g.took), max(s.ttl, s.shake))
	s.mu.Unlock()
	if g.session == 0 || g.timeout == s.ttl {
		return // expired, which the client finds out, or as it should be
	}
	s.over(true, fmt.Errorf("%w: TTL is %v; the ZooKeeper server makes it %v: its bounds are minSessionTimeout and maxSessionTimeout, by default 2 and 20 times its tickTime; choose a TTL within them", coord.ErrInvalid, s.ttl, g.timeout))
}

// event is told by the client what happens. It does not block: the client's
// goroutines call it.
func (s *session) event(e client.Event) {
	switch {
	case e.Type != client.EventSession:
	case e.State == client.StateHasSession:
		s.connected()
	case e.State == client.StateExpired:
		s.over(false, errExpired)
	case e.State == client.StateDisconnected:
		s.disconnected()
	}
}

func (s *session) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = s.offered
	stop(&s.silent)
	if !s.up && s.ended.Err() == nil {
		s.up, s.trouble = true, nil
		close(s.ready)
	}
}

func (s *session) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up {
		s.up = false
		s.ready = make(chan struct{})
	}
	if s.id != 0 && s.silent == nil && s.ended.Err() == nil {
		s.silent = time.AfterFunc(s.ttl, func() { s.over(false, errSilent) })
	}
}

// over ends the session. With farewell it is ended on the servers as well, if they
// can be reached, and what it holds is deleted; without, it ends there by itself.
func (s *session) over(farewell bool, why error) {
	s.end(why)
	s.mu.Lock()
	defer s.mu.Unlock()
	stop(&s.silent)
	if s.wire != nil && !farewell {
		s.wire.hush()
	}
}

// stop stops a timer, if there is one, and forgets it.
func stop(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
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
	for {
		s.mu.Lock()
		ready, up := s.ready, s.up
		s.mu.Unlock()
		if err := context.Cause(s.ended); err != nil {
			return err
		}
		if up {
			return nil
		}
		select {
		case <-ready:
		case <-s.ended.Done():
		case <-ctx.Done():
			return s.unreached(ctx)
		}
	}
}

// unreached is the error of a call that ended without an answer.
func (s *session) unreached(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble != nil {
		return &unreachedError{context.Cause(ctx), s.trouble}
	}
	return context.Cause(ctx)
}

// why adds to the error of a request what is known of the connection that it was on.
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

// line returns the connection in use.
func (s *session) line() *wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wire
}

// tick takes note of the leader's clock at a write, in milliseconds.
func (s *session) tick(milli int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serverTime, s.timeAt = milli*1000, now()
}

// Time implements [protocol.Session]: the leader's clock.
func (s *session) Time() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serverTime == 0 {
		return 0
	}
	return s.serverTime + since(s.timeAt).Microseconds()
}

// loggedIn tells whether the session has shown its credentials. The client shows them
// again on each connection.
func (s *session) loggedIn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.authed
}

func (s *session) logIn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authed = true
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

// know remembers an identity's node.
func (s *session) know(identity protocol.Entry[workerRecord]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity = identity
}

// lastIdentity returns an identity's node as it was read last.
func (s *session) lastIdentity() protocol.Entry[workerRecord] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}
