//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"github.com/unalike-id/unalike/client"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// grpc returns a client that speaks gRPC, over HTTP/2 with TLS or without.
func (s *served) grpc(config *tls.Config) unalikev1connect.IDServiceClient {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: config}
	transport.Protocols.SetHTTP2(config != nil)
	transport.Protocols.SetUnencryptedHTTP2(config == nil)
	s.t.Cleanup(transport.CloseIdleConnections)
	return unalikev1connect.NewIDServiceClient(&http.Client{Transport: transport}, s.url, connect.WithGRPC())
}

// TestServeRPC: gRPC on the address of everything else, with the nonce of a real namespace, which two
// instances agree on; SIGTERM ends a stream, and the program well.
func TestServeRPC(t *testing.T) {
	a := startServe(t)
	b := startServe(t, "--coordinator", "static://?worker=7")
	a.await("/readyz", "", isOK)
	b.await("/readyz", "", isOK)
	resp, err := a.grpc(nil).Generate(t.Context(), &unalikev1.GenerateRequest{Count: 3})
	if err != nil || resp.NamespaceNonce == "" || len(resp.Runs) == 0 {
		t.Fatalf("%v, %v\n%s", resp, err, a.stderr.String())
	}
	if resp, err := b.grpc(nil).Generate(t.Context(), &unalikev1.GenerateRequest{}); err != nil || resp.NamespaceNonce != "" {
		t.Errorf("static: %v, %v", resp, err)
	}
	c, err := client.New([]string{a.url, b.url}, client.Options{Prefetch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Next(); err != nil {
		t.Error(err)
	}
	if _, err := c.Next(); err == nil || !strings.Contains(err.Error(), "servers of different namespaces") {
		t.Errorf("a server of another namespace: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := a.grpc(nil).Watch(ctx, new(unalikev1.WatchRequest))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if !stream.Receive() || !stream.Msg().Ready {
		t.Fatalf("%v, %v", stream.Msg(), stream.Err())
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
	}
	if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the stream ends with %v", err)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, a.stderr.String())
	}
	b.stop()
}
