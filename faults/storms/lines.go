package storms

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// line is the way of one process to the servers: the proxy, and then the gate.
type line struct {
	*proxy.Proxy
	gate *proxy.Proxy    // for rollbacks, whatever else happens on the line
	late *proxytest.Held // a request that is to arrive late; nil: none
}

// lay lays a line for each process, where the servers do not tell clients where else they are.
func (st *storm) lay(processes int) {
	st.Helper()
	if st.Backend.Proxy() == nil || st.Backend.Name() == "cluster" {
		return
	}
	for range processes {
		gate := proxy.Start(st, st.Backend.Proxy().Addrs()...)
		st.lines = append(st.lines, &line{Proxy: proxy.Start(st, gate.Addrs()...), gate: gate})
	}
	st.newest = newNewest(processes)
	st.Backend.Proxy().Hold(st.newest.keep)
}

// along returns a URL of the back end by the line of a process, if it has one.
func (st *storm) along(p int, url string) string {
	if len(st.lines) == 0 {
		return url
	}
	return strings.Replace(url, strings.Join(st.Backend.Proxy().Addrs(), ","), strings.Join(st.lines[p].Addrs(), ","), 1)
}

// toLine is toNetwork for one line. A request that is under way late arrives when the next fault has begun with which
// nothing gets through: the line is silent after it.
func (st *storm) toLine(l *line, e Event) {
	st.Helper()
	st.toNetwork(l.Proxy, nil, e)
	if e.Ends || l.late == nil || !slices.Contains(losing, e.What) {
		return
	}
	if err := l.late.Deliver(); err != nil {
		st.Logf("%s: %v", e, err)
	}
	l.late = nil
}

// toLate keeps the next request on a line, see toLine.
func (st *storm) toLate(l *line, e Event) {
	if !e.Ends {
		l.late = l.Hold(st.Backend.IsCall)
	}
}

// newest has the newest acquisition that each process has asked for.
type newest struct {
	mu       sync.Mutex
	requests [][]byte
}

func newNewest(processes int) *newest { return &newest{requests: make([][]byte, processes)} }

// keep keeps a copy of a request that is an acquisition. It has the form of a match, and never does.
func (n *newest) keep(request []byte) bool {
	for p := range n.requests {
		if bytes.Contains(request, []byte(identity(p))) {
			n.mu.Lock()
			n.requests[p] = bytes.Clone(request)
			n.mu.Unlock()
		}
	}
	return false
}

// repeatEvery is how often requests are sent again.
const repeatEvery = 200 * time.Millisecond

// send sends all of them to the server at addr, again and again until stop is closed. Each has a connection of its
// own, as in [proxy.Proxy.Copy]: that works where requests stand alone.
func (n *newest) send(addr string, stop <-chan struct{}) {
	turn := time.NewTicker(repeatEvery)
	defer turn.Stop()
	for {
		for p := range n.requests {
			n.mu.Lock()
			request := n.requests[p]
			n.mu.Unlock()
			if request != nil {
				sendOnce(addr, request)
			}
		}
		select {
		case <-turn.C:
		case <-stop:
			return
		}
	}
}

// sendOnce sends a request, and waits a moment for the reply. Whether that works is up to the storm.
func sendOnce(addr string, request []byte) {
	c, err := net.DialTimeout("tcp", addr, repeatEvery)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(repeatEvery))
	if _, err := c.Write(request); err == nil {
		_, _ = c.Read(make([]byte, 4<<10))
	}
}

// toRequests has acquisitions arrive again.
func (st *storm) toRequests(e Event) {
	if e.Ends {
		st.stopSending()
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		st.newest.send(st.Backend.Proxy().Addrs()[0], stop)
	}()
	st.stopSending = sync.OnceFunc(func() { close(stop); <-done })
	st.Cleanup(st.stopSending)
}

func lateOn(p int) string { return fmt.Sprintf("late %d", p) }
func lineOf(p int) string { return fmt.Sprintf("line %d", p) }
