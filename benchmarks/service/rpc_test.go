package service

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/benchtest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// single is a procedure that issues one ID, without limits, metrics and access log.
type single struct {
	unalikev1connect.UnimplementedIDServiceHandler
	g      *core.Generator
	layout string
}

// Generate implements unalike.v1.IDService.
func (p single) Generate(context.Context,
	*unalikev1.GenerateRequest,
) (*unalikev1.GenerateResponse, error) {
	id, err := p.g.Next()
	if err != nil {
		return nil, err
	}
	return &unalikev1.GenerateResponse{
		NamespaceNonce: nonce, Layout: p.layout,
		Runs: []*unalikev1.Run{{First: uint64(id), Count: 1}},
	}, nil
}

// generate is a call of Generate over Connect.
func generate(b *testing.B, count uint32) string {
	b.Helper()
	msg, err := proto.Marshal(&unalikev1.GenerateRequest{Count: count})
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
		"application/proto\r\nConnect-Protocol-Version: 1\r\nContent-Length: %d\r\n\r\n%s",
		unalikev1connect.IDServiceGenerateProcedure, len(msg), msg)
}

// BenchmarkRPC compares Generate with a bare procedure: of many callers at once, and of one caller
// for one ID and for 4096.
func BenchmarkRPC(b *testing.B) {
	ours := serverOf(b, wide)
	_, h := unalikev1connect.NewIDServiceHandler(single{g: generator(b, wide), layout: wide.String()})
	plain := uncached(h)
	for _, tt := range []struct {
		name    string
		h       http.Handler
		callers int
		count   uint32
	}{
		{"bare", plain, connections, 1},
		{"ids", ours, connections, 1},
		{"bare", plain, 1, 1},
		{"ids", ours, 1, 1},
		{"ids", ours, 1, 4096},
	} {
		b.Run(fmt.Sprintf("handler=%s/callers=%d/count=%d", tt.name, tt.callers, tt.count),
			func(b *testing.B) {
				page := open(tt.h)
				defer page.Close()
				all := dial(b, page, tt.callers, generate(b, tt.count))
				saturate(b, all, tt.callers)
				b.ReportAllocs()
				before := benchtest.CPUTime()
				b.ResetTimer()
				saturate(b, all, b.N)
				b.StopTimer()
				after := benchtest.CPUTime()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
				b.ReportMetric(float64(b.N)*float64(tt.count)/b.Elapsed().Seconds(), "ids/s")
				if after > 0 {
					b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/call")
				}
			})
	}
}
