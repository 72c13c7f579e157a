package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/benchtest"
)

// BenchmarkRequests asks for one ID with each request.
func BenchmarkRequests(b *testing.B) {
	for name, h := range handlers(b) {
		b.Run("handler="+name, func(b *testing.B) {
			page := open(h)
			defer page.Close()
			all := dial(b, page, connections, request)
			saturate(b, all, connections) // the first request of a connection costs more
			b.ReportAllocs()
			before := benchtest.CPUTime()
			b.ResetTimer()
			saturate(b, all, b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			if after := benchtest.CPUTime(); after > 0 {
				b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/call")
			}
		})
	}
}

// BenchmarkLatency asks for one ID with each request, at half the rate that ours has reached.
func BenchmarkLatency(b *testing.B) {
	both := handlers(b)
	every := 2 * perRequest(b, both["ids"])
	for name, h := range both {
		b.Run("handler="+name, func(b *testing.B) {
			page := open(h)
			defer page.Close()
			all := dial(b, page, connections, request)
			saturate(b, all, connections)
			b.ResetTimer()
			overdue := pace(b, all, b.N, every)
			b.StopTimer()
			slices.Sort(overdue)
			b.ReportMetric(float64(overdue[len(overdue)/2]), "p50-ns")
			b.ReportMetric(float64(overdue[len(overdue)*99/100]), "p99-ns")
		})
	}
}

// perRequest is the time for each request at the rate that a handler reaches.
func perRequest(b *testing.B, h http.Handler) time.Duration {
	b.Helper()
	const requests = 20_000
	page := open(h)
	defer page.Close()
	all := dial(b, page, connections, request)
	saturate(b, all, requests/10)
	start := time.Now()
	saturate(b, all, requests)
	return time.Since(start) / requests
}

// wide has more IDs than anybody can ask for.
var wide = core.Layout{
	Epoch: core.DefaultLayout().Epoch, Unit: time.Millisecond, TimeBits: 41,
	WorkerBits: 4, SequenceBits: 18,
}

// BenchmarkClientNext is Next of a client with a stock, and that of a generator in the process. The
// default layout has an ID every 244 ns; that with 18 bits of sequence has more than anybody can
// ask for.
func BenchmarkClientNext(b *testing.B) {
	for name, layout := range map[string]core.Layout{
		"default": core.DefaultLayout(),
		"41-4-18": wide,
	} {
		b.Run("layout="+name+"/of=generator", func(b *testing.B) {
			g := generator(b, layout)
			for b.Loop() {
				if _, err := g.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("layout="+name+"/of=client", func(b *testing.B) {
			page := httptest.NewServer(serverOf(b, layout))
			defer page.Close()
			c, err := client.New([]string{page.URL}, client.Options{Timeout: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			for b.Loop() {
				if _, err := c.NextContext(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
