// Package admission decides which connections and requests a server serves when there are more
// than it has room for.
package admission

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Rank is how much a server knows of the caller behind a connection. The highest rank that a
// connection has reached counts.
type Rank int32

// The ranks, the lowest first.
const (
	Silent    Rank = iota // no request has arrived
	Anonymous             // no request had a token, or a certificate, that is known
	Known                 // a request had one
)

const (
	// graceTime is how long a connection stays at least.
	graceTime = 250 * time.Millisecond
	// shares is how many remote addresses fill the room with connections that are not Known.
	shares = 8
	// leastFurther bounds the number of further requests in flight from below: a small number of
	// connections of HTTP/2 may have many requests.
	leastFurther = 1024

	// What a connection may cost that is not Known where callers have tokens: this much at once,
	// then this much a second. Until then the server does not read on, and a flood waits in the
	// buffers of its senders.
	costAtOnce, costPerSecond = 10 << 10, 4 << 10
	// A byte that is read costs 1. A call that reads costs that of the frame behind it, and a request
	// that of its answer.
	mostRead, readCost, requestCost = 1 << 10, 512, 1 << 10
	// What is read before the first request costs nothing up to this: a TLS handshake with the
	// certificates of a caller.
	freeBytes = 32 << 10
)

// Config says what a [Listener] has room for.
type Config struct {
	// Room is the number of connections.
	Room int
	// Age is the time after which a connection is old, give or take 10 %.
	Age time.Duration
	// Tokens reports whether all callers are Known but for probes. Then three quarters of the further
	// requests in flight are theirs alone, and other connections are read slowly.
	Tokens bool
	// Closed is called for each connection that was closed because another one needed its room.
	Closed func()
}

// Listener is a net.Listener with a bound on its connections. If the room is full, a newcomer takes
// the place of another connection. These rules choose it, each among those that the one before
// leaves:
//
//  1. Those that are not Known, of an address that has more than an eighth of the room of them. If
//     there are none, those that are not Known. If there are none, those without a request in
//     flight.
//  2. Those that are 250 ms old. If there are none, the newcomer waits.
//  3. Those of the lowest rank.
//  4. The one whose last request began first, or which was opened first if it has had none.
type Listener struct {
	net.Listener
	cfg     Config
	began   time.Time
	left    chan struct{} // has an element after a connection has ended
	closed  chan struct{}
	once    sync.Once
	further atomic.Int64 // requests in flight, without the first one of each connection

	mu      sync.Mutex
	all     map[*Conn]struct{}
	unknown map[netip.Addr]int // connections that are not Known, by address
}

// Listen returns a listener on top of l.
func Listen(l net.Listener, cfg Config) *Listener {
	return &Listener{
		Listener: l, cfg: cfg, began: time.Now(), left: make(chan struct{}, 1),
		closed: make(chan struct{}), all: map[*Conn]struct{}{}, unknown: map[netip.Addr]int{},
	}
}

// Accept returns the next connection, a [*Conn], as soon as there is room for it.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := l.newConn(conn)
	for {
		old, wait, ok := l.enter(c)
		if old != nil {
			_ = old.Close()
			l.cfg.Closed()
		}
		if ok {
			return c, nil
		}
		soon := time.NewTimer(wait)
		select {
		case <-l.left:
		case <-soon.C:
		case <-l.closed:
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		soon.Stop()
	}
}

// Close ends the listener, and an Accept that waits.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Count returns the number of connections.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// enter adds a connection, and returns the one that it takes the place of, if any. If there is no
// place, it returns how long that can last unless a connection ends.
func (l *Listener) enter(c *Conn) (old *Conn, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) >= l.cfg.Room { //mutant:admission-room
		if old, wait = l.weakest(); old == nil {
			return nil, wait, false
		}
		l.remove(old)
	}
	l.all[c] = struct{}{}
	l.unknown[c.from]++
	return old, 0, true
}

// weakest returns the connection that gives way, or how long it can take until there is one. The
// lock is held.
func (l *Listener) weakest() (weakest *Conn, wait time.Duration) {
	now, least, wait := time.Now(), classKnown, graceTime
	for c := range l.all {
		class := l.classOf(c)
		if class > least || class == classKnown && c.inFlight.Load() > 0 {
			continue
		}
		if class < least {
			least, weakest, wait = class, nil, graceTime //mutant:admission-class
		}
		if age := now.Sub(c.opened); age < graceTime { //mutant:admission-grace
			wait = min(wait, graceTime-age)
		} else if weakest == nil || c.weaker(weakest) {
			weakest = c
		}
	}
	return weakest, wait
}

// Classes of connections, those first that give way first.
const (
	classOver  = iota // not Known, of an address with too many such connections
	classOther        // not Known
	classKnown
)

// classOf returns the class of a connection. The lock is held.
func (l *Listener) classOf(c *Conn) int {
	switch {
	case c.known():
		return classKnown
	case l.unknown[c.from] > max(l.cfg.Room/shares, 1): //mutant:admission-share
		return classOver
	}
	return classOther
}

// weaker reports whether c gives way before another connection of its class.
func (c *Conn) weaker(than *Conn) bool {
	if a, b := c.rank.Load(), than.rank.Load(); a != b { //mutant:admission-rank
		return a < b
	}
	return c.asked.Load() < than.asked.Load()
}

// remove takes a connection out, unless that has happened. The lock is held.
func (l *Listener) remove(c *Conn) {
	if _, here := l.all[c]; !here {
		return
	}
	delete(l.all, c)
	if !c.known() {
		l.identified(c.from)
	}
}

// identified takes a connection out of those that are not Known. The lock is held.
func (l *Listener) identified(from netip.Addr) {
	if l.unknown[from]--; l.unknown[from] == 0 {
		delete(l.unknown, from)
	}
}

// Conn is a connection of a [Listener].
type Conn struct {
	net.Conn
	l            *Listener
	from         netip.Addr
	opened, ends time.Time
	asked        atomic.Int64 // when it was opened or its last request began, in ns after l.began
	rank         atomic.Int32 // becomes Known under the lock of l
	inFlight     atomic.Int64
	once         sync.Once
	closed       chan struct{}
	costs        *rate.Limiter
	free         atomic.Int64 // what has been read before the first request
	resume       atomic.Int64 // from when on the connection is read again, as asked
}

func (l *Listener) newConn(conn net.Conn) *Conn {
	age := time.Duration(float64(l.cfg.Age) * (0.9 + 0.2*rand.Float64())) // not all together
	now := time.Now()
	c := &Conn{
		Conn: conn, l: l, from: addressOf(conn), opened: now, ends: now.Add(age),
		closed: make(chan struct{}), costs: rate.NewLimiter(costPerSecond, costAtOnce),
	}
	c.asked.Store(int64(now.Sub(l.began)))
	return c
}

// addressOf returns the remote address, and of IPv6 the network of 64 bits, all addresses of which
// one caller can have.
func addressOf(conn net.Conn) netip.Addr {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	from := tcp.AddrPort().Addr().Unmap().WithZone("")
	if from.Is6() {
		from = netip.PrefixFrom(from, 64).Masked().Addr()
	}
	return from
}

// connKey is the key of a connection in a context.
type connKey struct{}

// WithConn is for http.Server.ConnContext.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// Of returns the connection of a request by its context; nil if it came over none of a [Listener].
// The methods for requests accept nil, and then admit everything.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// Begin counts a request of a caller of a rank, and reports whether it may be served. The first
// request in flight of a connection always may: that bounds these by the room. All connections
// together have a bound on further ones. If Begin returns true, the caller must call End.
func (c *Conn) Begin(r Rank) bool {
	if c == nil {
		return true
	}
	c.asked.Store(int64(time.Since(c.l.began)))
	if c.rank.CompareAndSwap(int32(Silent), int32(Anonymous)); r == Known && !c.known() {
		c.identify()
	}
	if c.slow() {
		c.spend(requestCost)
	}
	if c.inFlight.Add(1) == 1 {
		return true
	}
	most := int64(max(2*c.l.cfg.Room, leastFurther))
	if r < Known && c.l.cfg.Tokens { //mutant:admission-further
		most /= 4
	}
	if c.l.further.Add(1) <= most {
		return true
	}
	c.End()
	return false
}

// End counts a request that has ended.
func (c *Conn) End() {
	if c != nil && c.inFlight.Add(-1) > 0 {
		c.l.further.Add(-1)
	}
}

// Old reports whether callers should leave the connection, because those behind a balancer would
// not spread over new servers otherwise, and streams would stay forever.
func (c *Conn) Old() bool { return c != nil && time.Now().After(c.ends) }

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if !c.slow() {
		return c.Conn.Read(b)
	}
	if wait := time.Duration(c.resume.Load()) - time.Since(c.l.began); wait > 0 {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.closed:
			timer.Stop()
		}
	}
	n, err := c.Conn.Read(b[:min(len(b), mostRead)])
	//mutant:admission-handshake
	if Rank(c.rank.Load()) > Silent || c.free.Add(int64(n)) > freeBytes {
		c.spend(n + readCost)
	}
	return n, err
}

// slow reports whether the connection is read slowly.
func (c *Conn) slow() bool { return c.l.cfg.Tokens && !c.known() } //mutant:admission-slow

// spend has the next Read wait until the connection may cost something again.
func (c *Conn) spend(cost int) {
	now := time.Now()
	wait := c.costs.ReserveN(now, cost).DelayFrom(now)
	c.resume.Store(int64(now.Add(wait).Sub(c.l.began)))
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.l.mu.Lock()
	c.l.remove(c)
	c.l.mu.Unlock()
	select {
	case c.l.left <- struct{}{}:
	default: // an Accept that waits looks soon
	}
	return c.Conn.Close()
}

func (c *Conn) known() bool { return Rank(c.rank.Load()) == Known }

// identify makes the connection Known.
func (c *Conn) identify() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.known() {
		return
	}
	if _, here := c.l.all[c]; here {
		c.l.identified(c.from)
	}
	c.rank.Store(int32(Known))
}
