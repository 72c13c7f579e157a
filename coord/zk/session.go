package zk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
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
	// errForeign says that what answers is no ZooKeeper.
	errForeign = errors.New("the answer is not in ZooKeeper's protocol: " +
		drivers.Question("a ZooKeeper", false))
)

const (
	// sendRoom is the longest request. The client sets it aside for each connection.
	sendRoom = 64 << 10
	// longestValue is the longest value of a node. Two of a transaction have the name of a holder.
	longestValue = sendRoom / 4
	// answerRoom is how long an answer may be besides the names of worker IDs.
	answerRoom = 128 << 10
	// nameRoom is how long an answer may be for each worker ID.
	nameRoom = 16
	// farewellTime is how long the servers have to answer that a session is ended.
	farewellTime = 500 * time.Millisecond
)

// session is a session with the ensemble, and the client that keeps it connected. It
// serves one grant: when it ends, what it holds is free. The client would open
// another session by itself then, and make requests of the old one in it; here, it
// finds no server any more.
type session struct {
	*store
	conn   *client.Conn
	hosts  *hosts
	events <-chan client.Event // is closed when the client has ended
	ttl    time.Duration       // of an operator's session, that which the server has made of it
	free   bool                // any TTL will do: it is an operator's, who holds nothing
	lane   chan struct{}       // has one element unless requests are under way

	ended context.Context // its cause says why the session is over
	end   context.CancelCauseFunc

	mu      sync.Mutex
	link    *link         // the last connection
	ready   chan struct{} // closed while there is a connection with the session
	up      bool          // ready is closed
	trouble error         // why there is no connection
	silent  *time.Timer   // runs while there is no connection

	protocol.ServerClock // the leader's, as the last write has told

	id atomic.Int64 // 0: not yet
	// is called when the clock's write was sent
	clockSent  atomic.Pointer[func()]
	idle       atomic.Bool                // its last call was given up
	held       atomic.Bool                // it has held a worker ID
	registered atomic.Pointer[holderNode] // nil: it has none
	// as the last survey has read it; nil: it has not
	identity atomic.Pointer[protocol.Entry[protocol.Pointer]]
}

// Open implements [protocol.Store]. The session begins to connect.
func (st *store) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s := &session{
		store: st, ttl: ttl, free: token == "", lane: make(chan struct{}, 1),
		ready: make(chan struct{}),
	}
	s.lane <- struct{}{}
	s.ended, s.end = context.WithCancelCause(context.Background())
	s.hosts = &hosts{life: s.ended, ttl: ttl}
	var err error
	s.conn, s.events, err = client.Connect(st.servers, ttl,
		client.WithHostProvider(s.hosts),
		client.WithDialer(s.dial),
		client.WithEventCallback(s.event),
		client.WithLogger(s),
		client.WithMaxConnBufferSize(sendRoom),
		client.WithMaxBufferSize(answerRoom+nameRoom*workers))
	if err != nil {
		return nil, err
	}
	if !st.life.Spawn(func() { s.wait(st.life.Context()) }) {
		s.end(coord.ErrClosed)
		go s.wait(s.ended)
		return nil, coord.ErrClosed
	}
	return s, nil
}

// dial makes a connection to a server, for the client.
func (s *session) dial(_, address string, _ time.Duration) (net.Conn, error) {
	l, err := s.hosts.dial(address)
	if err != nil {
		return nil, err
	}
	if l.login, err = s.opts.loginPacket(); err != nil {
		_ = l.Close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Over(); err != nil {
		_ = l.Close()
		return nil, err
	}
	l.of = s
	s.link = l
	return l, nil
}

// Printf implements the client's Logger. The client tells nobody else why there is no connection.
func (s *session) Printf(format string, args ...any) {
	s.opts.Logger.Debug(fmt.Sprintf(format, args...), "of", "zookeeper client")
	for _, a := range args {
		if err, ok := a.(error); ok {
			s.failed(err, strings.HasPrefix(format, "authentication failed:"))
		}
	}
}

// failed takes note of why there is no connection; greeting: because of the answer to the
// request for a session.
func (s *session) failed(err error, greeting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.trouble = err; {
	case greeting:
		s.trouble = unanswered(s.link.RemoteAddr(), err)
	case s.up:
		s.trouble = fmt.Errorf("the connection to %v has ended: %w", s.link.RemoteAddr(), err)
	}
}

// unanswered is the error of a request for a session that got no answer.
func unanswered(server net.Addr, err error) error {
	switch {
	case errors.Is(err, errForeign):
		return fmt.Errorf("%v: %w", server, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%v accepts connections and does not answer: %s", server,
			drivers.Question("a ZooKeeper", false))
	}
	return fmt.Errorf("%v ends connections without an answer: it has no quorum, or it has as many "+
		"connections from this host as its maxClientCnxns allows, or its data are older than what was "+
		"seen before; or %s", server, drivers.Question("a ZooKeeper", false))
}

// greeted is called when a server has made a session, before the client sends anything in it. A
// server that makes the session shorter or longer than asked changes the TTL: that is no lease that
// anybody configured. An operator has none.
func (s *session) greeted(id int64, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id.Store(id)
	if s.free { //mutant:zk-bounds
		s.ttl = timeout
	}
	if timeout != s.ttl {
		s.end(invalid.Errorf("TTL is %v; the ZooKeeper server makes it %v: its bounds are "+
			"minSessionTimeout and maxSessionTimeout, by default 2 and 20 times its tickTime; choose a TTL "+
			"within them", s.ttl, timeout))
		return
	}
	_, _ = s.link.Write(s.link.login) // if the connection has ended, the client learns it
	if s.silent != nil {
		s.silent.Stop()
	}
	s.up, s.silent, s.trouble = true, nil, nil
	close(s.ready)
}

// relogin ends the connection if the credentials have changed since it was made, so that the
// session goes on with the next one, as the user of now.
func (s *session) relogin() {
	login, err := s.opts.loginPacket()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.link != nil && !bytes.Equal(login, s.link.login) { //mutant:zk-relogin
		_ = s.link.Close()
	}
}

// loginPacket returns the packet that shows the credentials of now; empty: there are none. It is
// sent on each connection before the client sends anything. The client's AddAuth costs a round
// trip, is forgotten if its answer is lost, and the client hangs for ever if it cannot be sent
// again on the next connection.
func (opts Options) loginPacket() ([]byte, error) {
	if opts.Login == nil {
		return nil, nil
	}
	user, password, err := opts.Login()
	if err != nil {
		return nil, err
	}
	if strings.Contains(user, ":") {
		return nil, fmt.Errorf("user %q contains a colon; ZooKeeper's digest scheme ends the "+
			"user name there", user)
	}
	const number, operation, kind = -4, 100, 0
	var b []byte
	for _, n := range []int32{number, operation, kind} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, text := range []string{"digest", user + ":" + password} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}

// event is told by the client what happens. It does not block: the client's
// goroutines call it.
func (s *session) event(e client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type != client.EventSession:
	case e.State == client.StateExpired:
		s.end(errExpired)
	case e.State == client.StateDisconnected && s.up:
		s.up, s.ready = false, make(chan struct{})
		s.silent = time.AfterFunc(s.ttl, func() { s.end(errSilent) }) //mutant:zk-silent
	}
}

// wait blocks until the session or the coordinator is over, and then until the client has
// ended. The client's Close says farewell wherever there is a connection, so that is cut
// before where the session is to end by itself; and it may leave goroutines behind if requests
// are under way, so it comes after them.
func (s *session) wait(coordinator context.Context) {
	select {
	case <-s.ended.Done():
	case <-coordinator.Done():
		s.end(coord.ErrClosed)
	}
	if is(s.Over(), coord.ErrClosed, errExpired, errSilent) { //mutant:zk-mute
		s.cut()
	}
	cutTimer := time.AfterFunc(farewellTime, s.cut)
	defer cutTimer.Stop()
	<-s.lane
	go s.conn.Close() // which waits for a second if the client ends before it has asked
	for range s.events {
	}
	s.reclaim()
	s.cut() // a connection whose session has expired, the client leaves open
}

// cut ends the connection.
func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		_ = s.link.Close()
	}
	if s.silent != nil {
		s.silent.Stop()
	}
}

// tick takes note of the leader's clock at a write that was sent at a time, in milliseconds, which
// are rounded down, and returns what it can have said.
func (s *session) tick(milli int64, sent time.Time) protocol.Span {
	reading := protocol.Span{Low: milli * 1000, High: (milli + 1) * 1000}
	s.Note(reading, sent)
	return reading
}

// Over implements [protocol.Session].
func (s *session) Over() error { return context.Cause(s.ended) }

// End implements [protocol.Session]. The servers are told, and what the session holds is free.
func (s *session) End() { s.end(errEnded) }
