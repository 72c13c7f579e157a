//go:build unix

package main

import (
	"net/http"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// grpc returns a client that speaks gRPC without TLS.
func (s *served) grpc() unalikev1connect.IDServiceClient {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	s.t.Cleanup(transport.CloseIdleConnections)
	return unalikev1connect.NewIDServiceClient(&http.Client{Transport: transport}, s.url,
		connect.WithGRPC())
}

// TestServeRPC: gRPC on the address of everything else, with the nonce of a namespace that has one;
// SIGTERM ends a stream, and the program well.
func TestServeRPC(t *testing.T) {
	var last *served
	for _, tt := range []struct {
		args  []string
		nonce bool
	}{{[]string{"--coordinator", "static://?worker=7"}, false}, {nil, true}} {
		last = startServe(t, tt.args...).ready()
		resp, err := last.grpc().Generate(t.Context(), &unalikev1.GenerateRequest{Count: 3})
		if err != nil || (resp.NamespaceNonce != "") != tt.nonce || len(resp.Runs) == 0 {
			t.Fatalf("%v: %v, %v", tt.args, resp, err)
		}
	}
	stream, err := last.grpc().Watch(t.Context(), new(unalikev1.WatchRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() || !stream.Msg().Ready {
		t.Fatalf("%v, %v", stream.Msg(), stream.Err())
	}
	last.signal(syscall.SIGTERM)
	for stream.Receive() {
	}
	if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the stream ends with %v", err)
	}
	last.ended()
}
