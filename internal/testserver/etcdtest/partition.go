package etcdtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// network is what lies between the members of a cluster: one gate before each, which
// lets through what does not come from or go to a member that is cut off.
type network struct {
	done  sync.WaitGroup
	mu    sync.Mutex
	gates []net.Listener
	ended bool
	off   map[string]bool // cut off: by a member's address or by its ID
	open  map[*wire]struct{}
}

// wire is one connection between members.
type wire struct {
	from, to string // the ID of the one who dialed, if known, and the other's address
	ends     []net.Conn
}

// newNetwork returns a network that ends with the test.
func newNetwork(tb testing.TB) *network {
	tb.Helper()
	n := &network{off: map[string]bool{}, open: map[*wire]struct{}{}}
	tb.Cleanup(n.end)
	return n
}

// end closes everything, and returns when all goroutines have ended.
func (n *network) end() {
	n.mu.Lock()
	n.ended = true
	for _, l := range n.gates {
		_ = l.Close()
	}
	for w := range n.open {
		w.close()
	}
	n.mu.Unlock()
	n.done.Wait()
}

// gate listens in place of the member at the address target, and returns where.
func (n *network) gate(tb testing.TB, target string) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	n.gates = append(n.gates, l)
	n.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.done.Go(func() { n.pass(c, target) })
		}
	})
	return l.Addr().String()
}

// pass forwards one connection. Members say who they are in the header of each
// request, so the first one is read before it is decided.
func (n *network) pass(client net.Conn, target string) {
	w := &wire{to: target, ends: []net.Conn{client}}
	defer n.cut(w)
	if !n.admit(w) { // known, so that it can be cut while its header is awaited
		return
	}
	head, err := readHeader(client)
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	n.mu.Lock()
	w.from, w.ends = sender(head), append(w.ends, server)
	n.mu.Unlock()
	if !n.admit(w) {
		return
	}
	if _, err := server.Write(head); err != nil {
		return
	}
	n.done.Go(func() {
		defer n.cut(w)
		_, _ = io.Copy(client, server)
	})
	_, _ = io.Copy(server, client)
}

// admit registers a connection, unless one of its ends is cut off.
func (n *network) admit(w *wire) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended || n.off[w.to] || n.off[w.from] {
		return false
	}
	n.open[w] = struct{}{}
	return true
}

func (n *network) cut(w *wire) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, w)
	w.close()
}

// close closes both ends; the network's lock is held.
func (w *wire) close() {
	for _, c := range w.ends {
		_ = c.Close()
	}
}

// set cuts a member off or connects it again.
func (n *network) set(name string, off bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off[name] = off
	for w := range n.open {
		if n.off[w.to] || n.off[w.from] {
			w.close()
		}
	}
}

// readHeader reads up to the end of the header of a request.
func readHeader(c net.Conn) ([]byte, error) {
	var head []byte
	buf := make([]byte, 4<<10)
	for !bytes.Contains(head, []byte("\r\n\r\n")) {
		k, err := c.Read(buf)
		if err != nil {
			return nil, err
		}
		head = append(head, buf[:k]...)
	}
	return head, nil
}

// sender returns the ID of the member that made a request; empty: it does not say.
func sender(head []byte) string {
	_, rest, found := bytes.Cut(head, []byte("\r\nX-Server-From: "))
	if !found {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(id)
}

// CutOff separates a member from the others, in both directions. Its clients still
// reach it. The cluster must have been started by [StartDivisible].
func (c *Cluster) CutOff(tb testing.TB, m *Member) { tb.Helper(); c.divide(tb, m, true) }

// Rejoin ends what CutOff has done.
func (c *Cluster) Rejoin(tb testing.TB, m *Member) { tb.Helper(); c.divide(tb, m, false) }

func (c *Cluster) divide(tb testing.TB, m *Member, off bool) {
	tb.Helper()
	if m.id == "" {
		ctx, cancel := context.WithTimeout(tb.Context(), readyTime)
		defer cancel()
		s, err := Connect(tb, []string{m.Endpoint}).Status(ctx, m.Endpoint)
		if err != nil {
			tb.Fatal(err)
		}
		m.id = strconv.FormatUint(s.Header.GetMemberId(), 16)
	}
	c.net.set(m.id, off)
	c.net.set(m.cfg.Peer, off)
}
