package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// dialGRPC returns a connection of the client that gRPC itself has.
func (r *rig) dialGRPC(change ...func(*http.Server)) *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(r.listen(change...).URL, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestReflection: gRPC's own client learns from the server what there is, with a token; without one
// it reads why it is refused.
func TestReflection(t *testing.T) {
	conn := serve(t, withTokens(t)).dialGRPC()
	ask := func(ctx context.Context) (*grpc_reflection_v1.ServerReflectionResponse, error) {
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			return nil, err
		}
		_ = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{
				FileContainingSymbol: "unalike.v1.IDService",
			},
		}) // what is received tells whether it arrived
		return stream.Recv()
	}
	if _, err := ask(t.Context()); status.Code(err) != grpccodes.Unauthenticated ||
		!strings.Contains(err.Error(), "a token is needed") {
		t.Errorf("%v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+generates)
	got, err := ask(ctx)
	if err != nil || len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v, %v", got, err)
	}
	resp := new(unalikev1.GenerateResponse)
	err = conn.Invoke(ctx, "/unalike.v1.IDService/Generate", generateOne("orders"), resp)
	if err != nil || len(resp.Runs) != 1 {
		t.Errorf("%v, %v", resp, err)
	}
}
