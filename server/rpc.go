package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// compressFrom is the smallest message that is compressed for callers who can read that: a message
// of IDs in runs is a few dozen bytes.
const compressFrom = 8 << 10

// rpc answers calls of unalike.v1.IDService.
type rpc struct{ *Server }

var _ unalikev1connect.IDServiceHandler = rpc{}

// routesRPC adds the procedures: each speaks Connect, gRPC and gRPC-Web.
func (s *Server) routesRPC() error {
	options := []connect.HandlerOption{connect.WithReadMaxBytes(maxBody), connect.WithCompressMinBytes(compressFrom)}
	errs := connect.NewErrorWriter(options...)
	_, service := unalikev1connect.NewIDServiceHandler(rpc{s}, options...)
	for _, procedure := range []string{
		unalikev1connect.IDServiceGenerateProcedure, unalikev1connect.IDServiceNumbersProcedure,
		unalikev1connect.IDServiceDecodeProcedure, unalikev1connect.IDServiceLayoutProcedure,
	} {
		s.procedure(procedure, Generate, errs, service)
	}
	s.procedure(unalikev1connect.IDServiceWatchProcedure, Operate, errs, withDeadline(service))

	path, health := grpchealth.NewHandler(rpc{s}, options...)
	s.procedure(path, anyone, errs, health)
	watch, err := s.healthStream(options)
	if err != nil {
		return err
	}
	s.procedure(healthWatch, anyone, errs, withDeadline(watch))
	reflector := grpcreflect.NewStaticReflector(unalikev1connect.IDServiceName)
	path, reflection := grpcreflect.NewHandlerV1(reflector, options...)
	s.procedure(path, Generate, errs, reflection)
	path, reflection = grpcreflect.NewHandlerV1Alpha(reflector, options...)
	s.procedure(path, Generate, errs, reflection)
	return nil
}

// rightsKey is the key of what a caller may do, in the context of a procedure.
type rightsKey struct{}

// procedure adds a route that answers in the protocol of the call, errors too.
func (s *Server) procedure(pattern string, right Right, errs *connect.ErrorWriter, h http.Handler) {
	handle := func(w http.ResponseWriter, hr *http.Request) {
		r := &request{Request: hr}
		if p := s.admit(w, r, every, right); p != nil {
			if !errs.IsSupported(hr) {
				p.write(w)
				return
			}
			p.challenge(w.Header())
			_ = errs.Write(w, hr, p.rpc()) // who does not read it has gone
			return
		}
		if s.cfg.Tokens != nil {
			r.Request = r.WithContext(context.WithValue(r.Context(), rightsKey{}, r.may))
		}
		h.ServeHTTP(w, r.Request)
	}
	s.mux.HandleFunc(pattern, handle)
	if !strings.HasSuffix(pattern, "/") {
		s.procedures[pattern] = handle
	}
}

// mayOperate reports whether the caller of a procedure may operate.
func (s *Server) mayOperate(ctx context.Context) bool {
	if s.cfg.Tokens == nil {
		return true
	}
	may, _ := ctx.Value(rightsKey{}).(Right)
	return may&Operate != 0
}

// failRPC turns an error into one with a code.
func (s *Server) failRPC(ctx context.Context, procedure string, err error) error {
	return s.problem(procedure, err, s.mayOperate(ctx)).rpc()
}

// codes are those of Connect and gRPC for the states of problems.
var codes = map[int]connect.Code{
	http.StatusBadRequest:            connect.CodeInvalidArgument,
	http.StatusUnauthorized:          connect.CodeUnauthenticated,
	http.StatusForbidden:             connect.CodePermissionDenied,
	http.StatusMisdirectedRequest:    connect.CodePermissionDenied,
	http.StatusNotFound:              connect.CodeNotFound,
	http.StatusRequestEntityTooLarge: connect.CodeResourceExhausted,
	http.StatusTooManyRequests:       connect.CodeResourceExhausted,
	http.StatusServiceUnavailable:    connect.CodeUnavailable,
}

// rpc returns the problem as an error with a code. When to try again comes in the header of Connect's
// reply, and in the trailer of gRPC's.
func (p *problem) rpc() *connect.Error {
	code, ok := codes[p.Status]
	if !ok {
		code = connect.CodeInternal
	}
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	err := connect.NewError(code, errors.New(text))
	if p.retry > 0 {
		err.Meta().Set(retryAfter, p.after())
	}
	return err
}
