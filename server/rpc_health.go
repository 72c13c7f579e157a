package server

import (
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/protobuf/types/known/wrapperspb"

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

// watchHealth answers healthWatch: it sends the status of a service at once, at every change and
// every 10 s. Request and reply look on the wire as those of gRPC's health check, a string and an
// enum that are number 1. Those are registered by gRPC's own library, which may be in the program.
func (r rpc) watchHealth(ctx context.Context, req *connect.Request[wrapperspb.StringValue],
	stream *connect.ServerStream[wrapperspb.Int32Value],
) error {
	service := req.Msg.GetValue()
	return tell(ctx, r.Server, usualInterval,
		func() grpchealth.Status { return r.healthOf(service, r.checked.get()) },
		func(a, b grpchealth.Status) bool { return a != b },
		func(now grpchealth.Status) error { return stream.Send(wrapperspb.Int32(int32(now))) })
}
