package admission

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a listener in fake time, with connections from addresses that a test chooses.
type crowd struct {
	t *testing.T
	*Listener
	waiting chan net.Conn
	closed  int // connections that gave way
}

// Accept, Close and Addr are those of the listener below.
func (w waiting) Accept() (net.Conn, error) {
	conn, ok := <-w
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (w waiting) Close() error { close(w); return nil }
func (waiting) Addr() net.Addr { return &net.TCPAddr{} }

type waiting chan net.Conn

// end is one end of a connection from an address.
type end struct {
	net.Conn
	from net.IP
}

func (e end) RemoteAddr() net.Addr { return &net.TCPAddr{IP: e.from, Port: 1} }

func newCrowd(t *testing.T, cfg Config) *crowd {
	c := &crowd{t: t, waiting: make(chan net.Conn, 100)}
	cfg.Closed = func() { c.closed++ }
	c.Listener = Listen(waiting(c.waiting), cfg)
	return c
}

// caller is a connection as the server and its caller see it.
type caller struct {
	*Conn
	other net.Conn
}

// gone reports whether the server has closed the connection.
func (c caller) gone() bool {
	_ = c.other.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.other.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// dial accepts a connection from 10.0.0.from, and makes a request if the rank needs one.
func (c *crowd) dial(from byte, r Rank) caller {
	c.t.Helper()
	ours, other := net.Pipe()
	c.waiting <- end{ours, net.IPv4(10, 0, 0, from)}
	conn, err := c.Accept()
	if err != nil {
		c.t.Fatal(err)
	}
	one := caller{conn.(*Conn), other}
	c.t.Cleanup(func() { _ = one.Close(); _ = other.Close() })
	if r > Silent {
		one.ask(r)
	}
	return one
}

// ask makes a request that is answered immediately.
func (c caller) ask(r Rank) {
	if c.Begin(r) {
		c.End()
	}
}

// TestListener_TheWeakestGivesWay: the rules that choose the connection that gives way, one by one.
func TestListener_TheWeakestGivesWay(t *testing.T) {
	type one struct {
		from byte
		rank Rank
	}
	for name, tt := range map[string]struct {
		all   []one // in the order in which they come, a second apart
		asks  int   // which one asks again at the end; -1: none
		busy  int   // which one has a request in flight; -1: none
		wants int
	}{
		"silent before anonymous": {[]one{{1, Anonymous}, {2, Silent}, {3, Known}}, -1, -1, 1},
		"anonymous before known":  {[]one{{1, Known}, {2, Anonymous}, {3, Known}}, -1, -1, 1},
		"the oldest first":        {[]one{{1, Known}, {2, Anonymous}, {3, Anonymous}}, -1, -1, 1},
		"who asks stays":          {[]one{{1, Known}, {2, Anonymous}, {3, Anonymous}}, 1, -1, 2},
		"who is busy for long does not": {
			[]one{{1, Anonymous}, {2, Anonymous}, {3, Anonymous}}, -1, 0, 0,
		},
		"an address with too many first": {
			[]one{{1, Silent}, {2, Anonymous}, {2, Anonymous}}, -1, -1, 1,
		},
		"the known of an address count for nothing": {
			[]one{{1, Silent}, {2, Anonymous}, {2, Known}}, -1, -1, 0,
		},
		"known ones alone":         {[]one{{1, Known}, {2, Known}, {3, Known}}, -1, -1, 0},
		"not a known that is busy": {[]one{{1, Known}, {2, Known}, {3, Known}}, -1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, Config{Room: len(tt.all)})
				var all []caller
				for i, o := range tt.all {
					all = append(all, c.dial(o.from, o.rank))
					if i == tt.busy {
						all[i].Begin(o.rank)
					}
					time.Sleep(time.Second)
				}
				if tt.asks >= 0 {
					all[tt.asks].ask(tt.all[tt.asks].rank)
				}
				c.dial(9, Silent)
				for i := range all {
					if all[i].gone() != (i == tt.wants) {
						t.Errorf("connection %d is gone: %t, want %d to be", i, all[i].gone(), tt.wants)
					}
				}
				if c.closed != 1 || c.Count() != len(tt.all) {
					t.Errorf("%d gave way, and %d are there", c.closed, c.Count())
				}
			})
		})
	}
}

// TestListener_WaitsForRoom: a newcomer waits until a connection is 250 ms old, however often it
// asks, or has ended; and no longer than the listener.
func TestListener_WaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Config{Room: 2})
		begun := time.Now()
		first := c.dial(1, Known)
		first.Begin(Known)
		kept := c.dial(2, Anonymous)
		go func() {
			for !kept.gone() { // for 1 ms
				kept.ask(Anonymous)
			}
		}()
		third := c.dial(3, Known)
		if took := time.Since(begun); took != graceTime || first.gone() {
			t.Errorf("the third is accepted after %v, the first is gone: %t", took, first.gone())
		}
		third.Begin(Known)
		time.AfterFunc(time.Hour, func() { _ = first.Close() })
		begun = time.Now()
		c.dial(4, Known).Begin(Known)
		if took := time.Since(begun); took != time.Hour || third.gone() {
			t.Errorf("the fourth is accepted after %v, the third is gone: %t", took, third.gone())
		}
		time.AfterFunc(time.Hour, func() { _ = c.Listener.Close() })
		ours, other := net.Pipe()
		defer other.Close()
		c.waiting <- end{ours, net.IPv4(10, 0, 0, 5)}
		if _, err := c.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestConn_FurtherRequests: each connection has a request, and all share a bound on further ones,
// of which a quarter is for callers without a token where there are tokens.
func TestConn_FurtherRequests(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, Config{Room: 10, Tokens: tokens})
			one, other := c.dial(1, Silent), c.dial(2, Silent)
			begin := func(c caller, r Rank) (n int) {
				for c.Begin(r) {
					n++
				}
				return n
			}
			want := 1 + leastFurther
			if tokens {
				want = 1 + leastFurther/4
			}
			got := begin(one, Anonymous)
			if got != want {
				t.Errorf("tokens %t: %d requests, want %d", tokens, got, want)
			}
			if n := begin(other, Anonymous); n != 1 {
				t.Errorf("tokens %t: %d of another connection, want 1", tokens, n)
			}
			if n := begin(other, Known); n != leastFurther+1-want {
				t.Errorf("tokens %t: %d further ones with a token", tokens, n)
			}
			for range got {
				one.End()
			}
			if n := begin(one, Anonymous); tokens && n != 1 || !tokens && n != want {
				t.Errorf("tokens %t: afterwards %d", tokens, n)
			}
		})
	}
}

// TestConn_ReadsSlowly: where callers have tokens, what a connection sends without one is read
// slowly after the handshake, and with one as it comes; a connection that ends waits for nothing.
func TestConn_ReadsSlowly(t *testing.T) {
	const large = 64 << 10
	for name, tt := range map[string]struct {
		tokens bool
		rank   Rank
		size   int
		took   time.Duration // at least
	}{
		"no tokens":       {false, Anonymous, large, 0},
		"with a token":    {true, Known, large, 0},
		"without a token": {true, Anonymous, large, (large - costAtOnce) / costPerSecond * time.Second},
		"a TLS handshake": {true, Silent, freeBytes, 0},
		"no request": {
			true, Silent, freeBytes + large,
			(large - costAtOnce) / costPerSecond * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := newCrowd(t, Config{Room: 1, Tokens: tt.tokens}).dial(1, tt.rank)
				go func() { _, _ = one.other.Write(make([]byte, tt.size)) }()
				begun := time.Now()
				for got := 0; got < tt.size; {
					n, err := one.Read(make([]byte, 4096))
					if err != nil {
						t.Fatal(err)
					}
					got += n
				}
				if took := time.Since(begun); took < tt.took || took > 2*tt.took {
					t.Errorf("it took %v, want %v and a little", took, tt.took)
				}
				begun = time.Now()
				time.AfterFunc(time.Millisecond, func() { _ = one.Close() })
				if _, err := one.Read(make([]byte, 1)); err == nil || time.Since(begun) > time.Millisecond {
					t.Errorf("after Close: %v after %v", err, time.Since(begun))
				}
			})
		})
	}
}

// TestAddressOf: addresses that one caller can have are one.
func TestAddressOf(t *testing.T) {
	of := func(ip string) string {
		return addressOf(end{from: net.ParseIP(ip)}).String()
	}
	for ip, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::",
	} {
		if got := of(ip); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
}
