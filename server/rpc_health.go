package server

import (
	"context"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/protobuf/proto"
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
func (r rpc) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse,
	error,
) {
	status := r.healthOf(req.Service, r.statusesNow())
	if status == serviceUnknown {
		return nil, r.failRPC(ctx, "/"+grpchealth.HealthV1ServiceName+"/", problemf(http.StatusNotFound,
			"there is no such service; known are %s and the generators", unalikev1connect.IDServiceName))
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}

// statusesNow returns the status of each service: that of the whole server has no name, or the
// service's, and each generator has its own.
func (s *Server) statusesNow() map[string]grpchealth.Status {
	status := func(ready bool) grpchealth.Status {
		if ready {
			return grpchealth.StatusServing
		}
		return grpchealth.StatusNotServing
	}
	all := s.checks()
	by := make(map[string]grpchealth.Status, len(all)+2)
	for i, name := range s.known {
		by[name] = status(all[i].err == nil)
	}
	whole := status(s.isReady(all))
	by[""], by[unalikev1connect.IDServiceName] = whole, whole
	return by
}

// healthOf returns the status of a service among those that were looked at.
func (s *Server) healthOf(service string, all map[string]grpchealth.Status) grpchealth.Status {
	status, ok := all[service]
	switch {
	case !ok:
		return serviceUnknown
	case s.draining():
		return grpchealth.StatusNotServing
	}
	return status
}

// healthStream answers healthWatch.
func (s *Server) healthStream(options []connect.HandlerOption) (http.Handler, error) {
	request, response, err := healthMessages()
	if err != nil {
		return nil, err
	}
	options = append([]connect.HandlerOption{
		connect.WithRequestInitializer(func(_ connect.Spec, message any) error {
			m, ok := message.(*dynamicpb.Message)
			if !ok {
				return fmt.Errorf("a message of type %T", message)
			}
			*m = *dynamicpb.NewMessage(request)
			return nil
		}),
	}, options...)
	return connect.NewServerStreamHandler(healthWatch,
		func(ctx context.Context, req *connect.Request[dynamicpb.Message],
			stream *connect.ServerStream[dynamicpb.Message],
		) error {
			service := req.Msg.Get(request.Fields().ByNumber(1)).String()
			err := s.watchHealth(ctx, service, func(status grpchealth.Status) error {
				m := dynamicpb.NewMessage(response)
				m.Set(response.Fields().ByNumber(1), protoreflect.ValueOfEnum(protoreflect.EnumNumber(status)))
				return stream.Send(m)
			})
			if err != nil {
				return s.failRPC(ctx, healthWatch, err)
			}
			return nil
		}, options...), nil
}

// watchHealth sends the status of a service at once, at every change and every 10 s.
func (s *Server) watchHealth(ctx context.Context, service string,
	send func(grpchealth.Status) error,
) error {
	//mutant:health-streams
	leave, err := s.watches.enter(connectionOf(requestOf(ctx).Request), s.cfg.MaxWatches)
	if err != nil {
		return err
	}
	defer leave()
	return tell(ctx, s, usualInterval,
		func() grpchealth.Status { return s.healthOf(service, s.statuses.get()) },
		func(a, b grpchealth.Status) bool { return a != b }, send)
}

// healthMessages returns the messages of gRPC's health check, which are registered nowhere: whoever
// has gRPC's own library in the program has them already.
func healthMessages() (request, response protoreflect.MessageDescriptor, err error) {
	field := func(name string, kind descriptorpb.FieldDescriptorProto_Type,
		of *string,
	) []*descriptorpb.FieldDescriptorProto {
		return []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String(name), Number: proto.Int32(1), Type: kind.Enum(), TypeName: of,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}
	}
	status := &descriptorpb.EnumDescriptorProto{Name: proto.String("ServingStatus")}
	for i, name := range []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"} {
		status.Value = append(status.Value,
			&descriptorpb.EnumValueDescriptorProto{Name: proto.String(name), Number: proto.Int32(int32(i))})
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("grpc/health/v1/health.proto"), Package: proto.String("grpc.health.v1"),
		Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{
				Name:  proto.String("HealthCheckRequest"),
				Field: field("service", descriptorpb.FieldDescriptorProto_TYPE_STRING, nil),
			},
			{
				Name: proto.String("HealthCheckResponse"),
				Field: field("status", descriptorpb.FieldDescriptorProto_TYPE_ENUM,
					proto.String(".grpc.health.v1.HealthCheckResponse.ServingStatus")),
				EnumType: []*descriptorpb.EnumDescriptorProto{status},
			},
		},
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	return file.Messages().Get(0), file.Messages().Get(1), nil
}
