package coordinators

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// held is how many worker IDs others hold meanwhile.
var held = []int{0, 100, 1000}

// BenchmarkCalls is the time of one call, with nobody else at it.
func BenchmarkCalls(b *testing.B) {
	perBackend(b, func(b *testing.B, site *site) { //nolint:thelper // it is the benchmark
		for _, n := range held {
			if n > site.most {
				continue
			}
			s := site.space(b, core.DefaultLayout())
			others := s.fill(b, n)
			name := fmt.Sprintf("held=%d/call=", n)
			b.Run(name+"acquire", func(b *testing.B) {
				for b.Loop() {
					g := s.acquire(b)
					b.StopTimer()
					s.release(b, g)
					b.StartTimer()
				}
			})
			b.Run(name+"renew", func(b *testing.B) {
				g := s.acquire(b)
				for b.Loop() {
					g = s.renew(b, g)
				}
				s.release(b, g)
			})
			b.Run(name+"release", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					g := s.acquire(b)
					b.StartTimer()
					s.release(b, g)
				}
			})
			s.free(b, others)
		}
	})
}

// BenchmarkStarters is the time until the last one of many that start at the same
// moment has a worker ID.
func BenchmarkStarters(b *testing.B) {
	perBackend(b, func(b *testing.B, site *site) { //nolint:thelper // it is the benchmark
		for _, n := range []int{1, 16, few, many} {
			if n > site.most {
				continue
			}
			b.Run(fmt.Sprintf("starters=%d", n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					s := site.space(b, core.DefaultLayout())
					b.StartTimer()
					grants := s.fill(b, n)
					b.StopTimer()
					s.free(b, grants)
					b.StartTimer()
				}
			})
		}
	})
}

// BenchmarkRenewAll renews the worker IDs of 1024 holders in turn, from eight
// goroutines. Holders with the default times make 205 renewals a second; the metric
// "load" is which share that is of what the server was able to do here.
func BenchmarkRenewAll(b *testing.B) {
	const workers, interval = 8, 5.0
	perBackend(b, func(b *testing.B, site *site) { //nolint:thelper // it is the benchmark
		holders := site.most
		s := site.space(b, core.DefaultLayout())
		grants := s.fill(b, holders)
		for b.Loop() {
			atOnce(workers, func(w int) {
				for i := w; i < holders; i += workers {
					grants[i] = s.renew(b, grants[i])
				}
			})
		}
		rate := float64(b.N*holders) / b.Elapsed().Seconds()
		b.ReportMetric(rate, "renewals/s")
		b.ReportMetric(many/interval/rate, "load")
		s.free(b, grants)
	})
}

// BenchmarkTakeover is the time from the last sign of life of a holder that crashes
// until another one has its worker ID, in a namespace that has no other, with a TTL of
// 2 s, or the shortest that there is. What exceeds the TTL is how late the server is.
func BenchmarkTakeover(b *testing.B) {
	one := core.DefaultLayout()
	one.WorkerBits = 0
	perBackend(b, func(b *testing.B, site *site) { //nolint:thelper // it is the benchmark
		var ttl time.Duration
		for b.Loop() {
			b.StopTimer()
			s := site.space(b, one)
			ttl = max(2*time.Second, coord.Describe(s.Coordinator).Rules.MinTTL)
			if _, err := s.Acquire(b.Context(), s.request(ttl)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer() // nobody renews it
			for {
				_, err := s.Acquire(b.Context(), s.request(ttl))
				if err == nil {
					break
				}
				if !errors.Is(err, coord.ErrNoWorkerID) {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)-float64(ttl.Milliseconds()),
			"late-ms")
	})
}
