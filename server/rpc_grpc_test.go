package server_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// dialGRPC returns a connection of the client that gRPC itself has.
func (r *rig) dialGRPC(change ...func(*http.Server)) *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(r.listen(change...).URL, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestReflection: a client of gRPC that knows nothing of the service learns from the server how to
// ask, and has IDs.
func TestReflection(t *testing.T) {
	r := serve(t, nil)
	conn := r.dialGRPC()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	list := ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService()
	if len(list) != 1 || list[0].Name != "unalike.v1.IDService" {
		t.Fatalf("%v", list)
	}
	var set descriptorpb.FileDescriptorSet
	for _, text := range ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: list[0].Name},
	}).GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, f)
	}
	files := new(protoregistry.Files)
	for _, f := range set.File {
		if strings.HasPrefix(f.GetName(), "google/") {
			continue // found among those of this program
		}
		fd, err := protodesc.NewFile(f, protoregistry.GlobalFiles)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.RegisterFile(fd); err != nil {
			t.Fatal(err)
		}
	}
	d, err := files.FindDescriptorByName("unalike.v1.IDService.Generate")
	if err != nil {
		t.Fatal(err)
	}
	method := d.(protoreflect.MethodDescriptor)
	req, resp := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	req.Set(method.Input().Fields().ByName("generator"), protoreflect.ValueOfString("orders"))
	if err := conn.Invoke(t.Context(), "/unalike.v1.IDService/Generate", req, resp); err != nil {
		t.Fatal(err)
	}
	if runs := resp.Get(method.Output().Fields().ByName("runs")).List(); runs.Len() != 1 {
		t.Errorf("%v", resp)
	}
}

// TestHealth: gRPC's own health check follows /readyz, and needs no token.
func TestHealth(t *testing.T) {
	r := serve(t, withTokens(t))
	health := grpc_health_v1.NewHealthClient(r.dialGRPC())
	check := func(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		resp, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		return resp.GetStatus(), err
	}
	for _, service := range []string{"", "unalike.v1.IDService"} {
		if got, err := check(service); got != grpc_health_v1.HealthCheckResponse_SERVING || err != nil {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
	if _, err := check("none"); status.Code(err) != grpccodes.NotFound {
		t.Errorf("%v", err)
	}
	r.Drain()
	if got, err := check(""); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING || err != nil {
		t.Errorf("stopping: %v, %v", got, err)
	}
}

// TestGRPCRights: gRPC's own client reads why it is refused; what there is is not told to strangers.
func TestGRPCRights(t *testing.T) {
	r := serve(t, withTokens(t))
	conn := r.dialGRPC()
	info := func(header ...string) error {
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(metadata.AppendToOutgoingContext(t.Context(), header...))
		if err != nil {
			return err
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	if err := info(); status.Code(err) != grpccodes.Unauthenticated || !strings.Contains(err.Error(), "a token is needed") {
		t.Errorf("%v", err)
	}
	if err := info("authorization", "Bearer "+generates); status.Code(err) == grpccodes.Unauthenticated {
		t.Errorf("with a token: %v", err)
	}
}

// TestCurl: the lines of docs/service.md as they stand, but for the address.
func TestCurl(t *testing.T) {
	proctest.Need(t, "curl", "curl")
	r := serve(t, nil)
	url := r.listen().URL
	for _, tt := range []struct {
		args []string
		has  string
	}{
		{[]string{"-d", `{"generator":"orders","count":3}`, url + "/unalike.v1.IDService/Generate"}, `"runs":[{"first":"`},
		{[]string{"--http2-prior-knowledge", "-d", `{"generator":"orders"}`, url + "/unalike.v1.IDService/Layout"}, `"timeBits":41`},
		{[]string{"-d", `{"generator":"none"}`, url + "/unalike.v1.IDService/Generate"}, `"code":"not_found"`},
	} {
		out, err := exec.CommandContext(t.Context(), "curl", append([]string{"-sS", "-m", "60", "-H", "Content-Type: application/json"}, tt.args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.has) {
			t.Errorf("%v: %v\n%s", tt.args, err, out)
		}
	}
}
