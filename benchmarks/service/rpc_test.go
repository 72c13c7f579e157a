package service

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/internal/benchtest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// echo is a bare procedure, whose reply has the size of ours.
type echo struct {
	unalikev1connect.UnimplementedIDServiceHandler
}

// Generate implements unalike.v1.IDService.
func (echo) Generate(context.Context,
	*unalikev1.GenerateRequest,
) (*unalikev1.GenerateResponse, error) {
	return &unalikev1.GenerateResponse{
		NamespaceNonce: nonce, Layout: wide.String(),
		Runs: []*unalikev1.Run{{First: 1 << 60, Count: 1}},
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
	_, plain := unalikev1connect.NewIDServiceHandler(echo{})
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
