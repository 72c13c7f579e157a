package server_test

import (
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

// TestReflection: gRPC's own client learns from the server what there is, and has IDs.
func TestReflection(t *testing.T) {
	conn := serve(t, nil).dialGRPC()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "unalike.v1.IDService",
		},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil || len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v, %v", got, err)
	}
	resp := new(unalikev1.GenerateResponse)
	err = conn.Invoke(t.Context(), "/unalike.v1.IDService/Generate", generateOne("orders"), resp)
	if err != nil || len(resp.Runs) != 1 {
		t.Errorf("%v, %v", resp, err)
	}
}

// TestGRPCRights: gRPC's own client reads why it is refused; what there is is not told to
// strangers.
func TestGRPCRights(t *testing.T) {
	r := serve(t, withTokens(t))
	conn := r.dialGRPC()
	info := func(header ...string) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), header...)
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			return err
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	if err := info(); status.Code(err) != grpccodes.Unauthenticated ||
		!strings.Contains(err.Error(), "a token is needed") {
		t.Errorf("%v", err)
	}
	if err := info("authorization",
		"Bearer "+generates); status.Code(err) == grpccodes.Unauthenticated {
		t.Errorf("with a token: %v", err)
	}
}
