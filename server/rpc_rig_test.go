package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// protocols are those that a call can be made in.
var protocols = map[string][]connect.ClientOption{
	"Connect":      nil,
	"Connect JSON": {connect.WithProtoJSON()},
	"gRPC":         {connect.WithGRPC()},
	"gRPC-Web":     {connect.WithGRPCWeb()},
}

// listen serves HTTP/1.1 and HTTP/2 without TLS, as the command does.
func (r *rig) listen(change ...func(*http.Server)) *httptest.Server {
	r.t.Helper()
	s := httptest.NewUnstartedServer(r.Server)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	for _, f := range change {
		f(s.Config)
	}
	s.Start()
	r.t.Cleanup(s.Close)
	return s
}

// http2Client returns a client that speaks HTTP/2 alone.
func http2Client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// service returns a client of the service in a protocol, with a token; empty: without.
func (r *rig) service(url, token string,
	o ...connect.ClientOption,
) unalikev1connect.IDServiceClient {
	r.t.Helper()
	c := http2Client(r.t)
	if token != "" {
		c.Transport = bearer{c.Transport, token}
	}
	return unalikev1connect.NewIDServiceClient(c, url, o...)
}

// bearer sends a token with every request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// namespace is a coordinator whose namespace a test can change.
type namespace struct {
	coord.Coordinator
	now    atomic.Pointer[coord.Namespace]
	failed atomic.Pointer[error]
	asked  atomic.Int32
}

func newNamespace(nonce string) *namespace {
	n := &namespace{Coordinator: coordtest.NewFake(coordtest.FakeConfig{}).Client()}
	n.now.Store(&coord.Namespace{Layout: "x", Nonce: nonce})
	return n
}

func (n *namespace) Inspect(context.Context) (coord.Namespace, error) {
	n.asked.Add(1)
	if err := n.failed.Load(); err != nil {
		return coord.Namespace{}, *err
	}
	return *n.now.Load(), nil
}

// generateOne asks for one ID of a generator.
func generateOne(generator string) *unalikev1.GenerateRequest {
	return &unalikev1.GenerateRequest{Generator: generator}
}
