package service

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// slice is how many requests BenchmarkOfBare sends to one of two handlers before it sends as many
// to the other one: so few that other work on the machine slows down both.
const slice = 256

// BenchmarkOfBare measures the rate of the service as a part of the rate of a bare handler that
// issues an ID: the median over pairs of slices that follow each other.
func BenchmarkOfBare(b *testing.B) {
	_, rpc := unalikev1connect.NewIDServiceHandler(single{
		g: generator(b, wide), layout: wide.String(),
	})
	both := handlers(b)
	for _, tt := range []struct {
		name, request string
		minimal, ids  http.Handler
	}{
		{"http", request, both["bare"], both["ids"]},
		{"connect", generate(b, 1), uncached(rpc), serverOf(b, wide)},
	} {
		b.Run("protocol="+tt.name, func(b *testing.B) {
			dialed := func(h http.Handler) []*conn {
				page := open(h)
				b.Cleanup(page.Close)
				all := dial(b, page, connections, tt.request)
				saturate(b, all, 8*slice)
				return all
			}
			minimal, ids := dialed(tt.minimal), dialed(tt.ids)
			timed := func(all []*conn) float64 {
				began := time.Now()
				saturate(b, all, slice)
				return time.Since(began).Seconds()
			}
			var ratios []float64
			for b.Loop() {
				first := timed(minimal)
				ratios = append(ratios, first/timed(ids))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "of-bare")
		})
	}
}
