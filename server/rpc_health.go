package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// healthWatch is the procedure of gRPC's health check that package grpchealth does not have.
const healthWatch = "/grpc.health.v1.Health/Watch"

// serviceUnknown is the status of a service that is not here, for those who watch it.
const serviceUnknown = grpchealth.Status(3)

// Check implements grpchealth.Checker: the server or a generator is ready or not, as on /readyz.
func (r rpc) Check(_ context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse,
	error,
) {
	status := r.healthOf(req.Service, r.checks())
	if status == serviceUnknown {
		return nil, problemf(http.StatusNotFound,
			"there is no such service; known are %s and the generators", unalikev1connect.IDServiceName)
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}

// healthOf returns the status of a service: that of the whole server has no name, or the service's,
// and each generator has its own.
func (s *Server) healthOf(service string, all []check) grpchealth.Status {
	ready := s.isReady(all)
	if service != "" && service != unalikev1connect.IDServiceName {
		i := slices.Index(s.known, service)
		if i < 0 {
			return serviceUnknown
		}
		ready = all[i].err == nil
	}
	if ready && !s.draining() {
		return grpchealth.StatusServing
	}
	return grpchealth.StatusNotServing
}

// healthWatcher answers healthWatch: it sends the status of a service at once, at every change and
// every 10 s.
func (r rpc) healthWatcher(options []connect.HandlerOption) (http.Handler, error) {
	request, reply, err := healthMessages()
	if err != nil {
		return nil, err
	}
	empty := connect.WithRequestInitializer(func(_ connect.Spec, message any) error {
		m, ok := message.(*dynamicpb.Message)
		if !ok {
			return fmt.Errorf("a message of type %T", message)
		}
		*m = *dynamicpb.NewMessage(request)
		return nil
	})
	return connect.NewServerStreamHandler(healthWatch, func(ctx context.Context,
		req *connect.Request[dynamicpb.Message], stream *connect.ServerStream[dynamicpb.Message],
	) error {
		service := req.Msg.Get(request.Fields().Get(0)).String()
		return tell(ctx, r.Server, usualInterval,
			func() grpchealth.Status { return r.healthOf(service, r.checked.get()) },
			func(a, b grpchealth.Status) bool { return a != b },
			func(now grpchealth.Status) error {
				m := dynamicpb.NewMessage(reply)
				m.Set(reply.Fields().Get(0), protoreflect.ValueOfEnum(protoreflect.EnumNumber(now)))
				return stream.Send(m)
			})
	}, connect.WithHandlerOptions(options...), empty), nil
}

// healthFile has the messages of gRPC's health check. They are registered nowhere: a program with
// gRPC's own library has registered them already.
const healthFile = `name: "health.proto" syntax: "proto3"
	enum_type { name: "ServingStatus"
		value { name: "UNKNOWN" number: 0 }
		value { name: "SERVING" number: 1 }
		value { name: "NOT_SERVING" number: 2 }
		value { name: "SERVICE_UNKNOWN" number: 3 } }
	message_type { name: "HealthCheckRequest"
		field { name: "service" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }
	message_type { name: "HealthCheckResponse"
		field { name: "status" number: 1 label: LABEL_OPTIONAL type: TYPE_ENUM
			type_name: ".ServingStatus" } }`

// healthMessages returns the two messages of healthFile.
func healthMessages() (request, reply protoreflect.MessageDescriptor, err error) {
	var text descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(healthFile), &text); err != nil {
		return nil, nil, err
	}
	file, err := protodesc.NewFile(&text, nil)
	if err != nil {
		return nil, nil, err
	}
	return file.Messages().Get(0), file.Messages().Get(1), nil
}
