package etcdtest

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// CutOff separates a member from the others, in both directions. Its clients still
// reach it. The cluster must have been started by [StartDivisible].
func (c *Cluster) CutOff(tb testing.TB, m *Member) {
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
	m.off = true
	c.divide()
}

// Rejoin ends what CutOff has done.
func (c *Cluster) Rejoin(tb testing.TB, m *Member) {
	tb.Helper()
	m.off = false
	c.divide()
}

// divide has the proxy before each member let through what neither comes from nor goes to one that
// is cut off. Members say who they are in the header of each request.
func (c *Cluster) divide() {
	var from [][]byte
	for _, m := range c.Members {
		if m.off {
			from = append(from, []byte("\r\nX-Server-From: "+m.id+"\r\n"))
		}
	}
	for i, m := range c.Members {
		off := m.off
		c.gates[i].Bar(func(head []byte) bool {
			return off || slices.ContainsFunc(from, func(line []byte) bool {
				return bytes.Contains(head, line)
			})
		})
	}
}

// gate returns a proxy before the member that listens at an address for others.
func (c *Cluster) gate(tb testing.TB, addr string) string {
	tb.Helper()
	p := proxytest.Start(tb, addr)
	c.gates = append(c.gates, p)
	return p.Addr
}
