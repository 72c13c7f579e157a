package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// rig is two servers behind a proxy, and a plain connection to the first through it.
type rig struct {
	proxy   *proxy.Proxy
	servers []*redistest.Server
	conn    net.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{servers: []*redistest.Server{redistest.Start(t, redistest.Options{}), redistest.Start(t, redistest.Options{})}}
	r.proxy = proxy.Start(t, r.servers[0].Addr, r.servers[1].Addr)
	r.conn = r.dial(t, 0)
	return r
}

// dial connects to the i-th server through the proxy.
func (r *rig) dial(t *testing.T, i int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.proxy.Addrs()[i])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// count increases the counter n of a server over a connection.
func count(c net.Conn) error {
	_, err := io.WriteString(c, "INCR n\r\n")
	return err
}

// answer reads what comes within a time; empty: nothing does.
func answer(c net.Conn, within time.Duration) (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// want checks that the counter's reply comes.
func want(t *testing.T, c net.Conn, reply string) {
	t.Helper()
	if got, err := answer(c, streamtest.CallTime); got != reply || err != nil {
		t.Errorf("the reply is %q, %v; want %q", got, err, reply)
	}
}

// wantNothing checks that nothing comes for a moment.
func wantNothing(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := answer(c, 100*time.Millisecond); got != "" || !errors.Is(err, context.DeadlineExceeded) && !timedOut(err) {
		t.Errorf("%q, %v came; want nothing", got, err)
	}
}

func timedOut(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// wantCount waits until the counter of the i-th server has a value.
func (r *rig) wantCount(t *testing.T, i int, n string) {
	t.Helper()
	got := ""
	client := r.servers[i].Client(t)
	streamtest.Eventually(t, "the counter is "+n, func() bool {
		var err error
		got, err = client.Get(t.Context(), "n").Result()
		return got == n || errors.Is(err, goredis.Nil) && n == "0"
	})
}

func isCount(b []byte) bool { return strings.Contains(string(b), "INCR") }

// must fails the test if a write failed.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	r := newRig(t)
	r.proxy.DelayRequests(late)
	began := time.Now()
	must(t, count(r.conn))
	r.wantCount(t, 0, "1")
	if took := time.Since(began); took < late {
		t.Errorf("a request that is late by %v was carried out after %v", late, took)
	}
	want(t, r.conn, ":1\r\n")
	r.proxy.DelayRequests(0)
	r.proxy.DelayReplies(late)
	began = time.Now()
	must(t, count(r.conn))
	want(t, r.conn, ":2\r\n")
	if took := time.Since(began); took < late {
		t.Errorf("a reply that is late by %v came after %v", late, took)
	}
	r.proxy.Heal()
	must(t, count(r.conn)) // delays have cut nothing
	want(t, r.conn, ":3\r\n")
}

func TestLosses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose     func(*proxy.Proxy)
		executed string
	}{
		"requests": {(*proxy.Proxy).LoseRequests, "1"},
		"replies":  {(*proxy.Proxy).LoseReplies, "2"},
		"all":      {(*proxy.Proxy).LoseAll, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			must(t, count(r.conn))
			want(t, r.conn, ":1\r\n")
			other := r.dial(t, 1)
			c.lose(r.proxy.Only(0))
			must(t, count(r.conn))
			wantNothing(t, r.conn)
			r.wantCount(t, 0, c.executed)
			must(t, count(other))
			want(t, other, ":1\r\n") // the fault is at the first server only
			r.proxy.Heal()
			if got, err := answer(r.conn, streamtest.CallTime); got != "" || timedOut(err) {
				t.Errorf("after bytes were lost, %q, %v came on the connection; want its end", got, err)
			}
			must(t, count(r.dial(t, 0)))
		})
	}
}

// A network that loses what one side sends loses that it has gone, too.
func TestEndLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, count(r.conn))
	want(t, r.conn, ":1\r\n")
	r.proxy.LoseReplies()
	r.servers[0].Kill()
	wantNothing(t, r.conn)
}

func TestResetAndRefuse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, count(r.conn))
	want(t, r.conn, ":1\r\n")
	r.proxy.Reset()
	if _, err := answer(r.conn, streamtest.CallTime); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that was reset says %v", err)
	}
	again := r.dial(t, 0)
	must(t, count(again))
	want(t, again, ":2\r\n")
	r.proxy.Refuse()
	for what, c := range map[string]net.Conn{"an old connection": again, "a new connection": r.dial(t, 0)} {
		if got, err := answer(c, streamtest.CallTime); got != "" || err == nil || timedOut(err) {
			t.Errorf("%s was refused and says %q, %v", what, got, err)
		}
	}
}

// Of four requests, the replies to two are lost, and all were carried out.
func TestLoseAcks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.proxy.LoseAcks(2, isCount)
	for _, lost := range []bool{false, true, false, true} {
		c := r.dial(t, 0)
		_, err := io.WriteString(c, "PING\r\n")
		must(t, err)
		want(t, c, "+PONG\r\n")
		must(t, count(c))
		got, err := answer(c, streamtest.CallTime)
		if lost && !errors.Is(err, syscall.ECONNRESET) || !lost && !strings.HasPrefix(got, ":") {
			t.Errorf("the reply is %q, %v; it should be lost: %v", got, err, lost)
		}
	}
	r.wantCount(t, 0, "4")
	if n := r.proxy.AcksLost(); n != 2 {
		t.Errorf("%d replies were lost; want 2", n)
	}
	r.proxy.Heal()
	c := r.dial(t, 0)
	for range 2 {
		must(t, count(c))
		if got, err := answer(c, streamtest.CallTime); err != nil {
			t.Errorf("after all was healed: %q, %v", got, err)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.proxy.Hold(isCount)
	if err := h.Deliver(); err == nil {
		t.Error("nothing was caught, and was delivered")
	}
	must(t, count(r.conn))
	<-h.Caught()
	if _, err := answer(r.conn, streamtest.CallTime); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client whose request was caught gets %v; want a reset", err)
	}
	again := r.dial(t, 0)
	must(t, count(again))
	want(t, again, ":1\r\n") // the second overtakes the first
	other := r.dial(t, 1)
	must(t, count(other))
	want(t, other, ":1\r\n") // one is held, and not one at each server
	r.proxy.Refuse()
	r.proxy.Heal() // what is held stays
	must(t, h.Deliver())
	r.wantCount(t, 0, "2")
	streamtest.Eventually(t, "the server answers", func() bool { return h.Answer() == ":2\r\n" })
	must(t, h.Deliver())
	r.wantCount(t, 0, "3")
}

func TestCopy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.proxy.Copy(isCount)
	must(t, count(r.conn))
	want(t, r.conn, ":1\r\n")
	<-h.Caught()
	must(t, r.conn.Close())
	must(t, h.Deliver())
	if got := h.Answer(); got != ":2\r\n" {
		t.Errorf("the reply to the copy is %q", got)
	}
}

// TestLead: new connections go to another server, and those that there are stay.
func TestLead(t *testing.T) {
	r := newRig(t)
	must(t, count(r.conn))
	want(t, r.conn, ":1\r\n") // it leads to a server by now
	r.proxy.Only(0).Lead(r.servers[1].Addr)
	for i, c := range []net.Conn{r.conn, r.dial(t, 0), r.dial(t, 1)} {
		must(t, count(c))
		want(t, c, []string{":2\r\n", ":1\r\n", ":2\r\n"}[i])
	}
}
