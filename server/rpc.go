package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

// rpc answers calls of unalike.v1.IDService.
type rpc struct{ *Server }

var _ unalikev1connect.IDServiceHandler = rpc{}

// routesRPC adds the procedures: each speaks Connect, gRPC and gRPC-Web.
func (s *Server) routesRPC() error {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxBody),
		// 63 KB of a compressed request can have 100 times that in it, and replies are short
		connect.WithCompression("gzip", nil, nil), //mutant:compressed
		connect.WithInterceptors(coded{s}),
	}
	for _, name := range []string{"json", "json; charset=utf-8"} {
		options = append(options, connect.WithCodec(strictJSON{name}))
	}
	errs := connect.NewErrorWriter(options...)
	_, service := unalikev1connect.NewIDServiceHandler(rpc{s}, options...)
	for procedure, issues := range map[string]bool{
		unalikev1connect.IDServiceGenerateProcedure: true,
		unalikev1connect.IDServiceNumbersProcedure:  true,
		unalikev1connect.IDServiceDecodeProcedure:   false,
		unalikev1connect.IDServiceLayoutProcedure:   false,
	} {
		s.procedure(route{pattern: procedure, right: mayGenerate, issues: issues}, errs, service)
	}
	s.procedure(route{pattern: unalikev1connect.IDServiceWatchProcedure, right: mayOperate}, errs,
		service)

	path, health := grpchealth.NewHandler(rpc{s}, options...)
	s.procedure(route{pattern: path}, errs, health)
	watch, err := rpc{s}.healthWatcher(options)
	if err != nil {
		return err
	}
	s.procedure(route{pattern: healthWatch}, errs, watch)
	reflector := grpcreflect.NewStaticReflector(unalikev1connect.IDServiceName)
	path, reflection := grpcreflect.NewHandlerV1(reflector, options...)
	s.procedure(route{pattern: path, right: mayGenerate}, errs, reflection)
	path, reflection = grpcreflect.NewHandlerV1Alpha(reflector, options...)
	s.procedure(route{pattern: path, right: mayGenerate}, errs, reflection)
	return nil
}

// procedure adds a route that answers in the protocol of the call, errors too.
func (s *Server) procedure(rt route, errs *connect.ErrorWriter, h http.Handler) {
	rt = s.observed(rt)
	rt.body = true
	handle := func(w http.ResponseWriter, hr *http.Request) {
		s.handle(&rt, w, func(r *request) {
			if err := s.admit(&rt, r); err != nil {
				p := s.problem(rt.pattern, err, r.detailed())
				if !errs.IsSupported(hr) {
					p.write(&r.answer)
					return
				}
				r.answer.says(p.Status)
				p.challenge(w.Header())
				_ = errs.Write(&r.answer, hr, p.rpc()) // who does not read it has gone
				return
			}
			h.ServeHTTP(&r.answer, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
		})
	}
	s.mux.HandleFunc(rt.pattern, handle)
	if !strings.HasSuffix(rt.pattern, "/") {
		s.fixed[rt.pattern] = handle
	}
}

// coded turns the errors of procedures into those with a code.
type coded struct{ *Server }

// WrapUnary implements connect.Interceptor.
func (c coded) WrapUnary(call connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		resp, err := call(ctx, req)
		return resp, c.code(ctx, err)
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (c coded) WrapStreamingHandler(call connect.StreamingHandlerFunc,
) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return c.code(ctx, call(ctx, conn))
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (coded) WrapStreamingClient(call connect.StreamingClientFunc) connect.StreamingClientFunc {
	return call
}

// code returns an error with a code, unless it has one already.
func (s *Server) code(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*connect.Error](err); ok {
		return err
	}
	r := requestOf(ctx)
	p := s.problem(r.URL.Path, err, r.detailed())
	r.answer.says(p.Status)
	return p.rpc()
}

// strictJSON reads messages in JSON, and refuses members that are not known.
type strictJSON struct{ name string }

// Name implements connect.Codec.
func (c strictJSON) Name() string { return c.name }

// Marshal implements connect.Codec.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, err := messageOf(message)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(m)
}

// Unmarshal implements connect.Codec.
func (strictJSON) Unmarshal(text []byte, message any) error {
	m, err := messageOf(message)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		return fmt.Errorf("%w; known members are %s", err, strings.Join(members(m), ", "))
	}
	return nil
}

// members returns the names that a message in JSON has.
func members(m proto.Message) (names []string) {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		names = append(names, fields.Get(i).JSONName())
	}
	return names
}

func messageOf(message any) (proto.Message, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("a message of type %T", message)
	}
	return m, nil
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

// rpc returns the problem as an error with a code. When to try again comes in the header of
// Connect's reply, and in the trailer of gRPC's.
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
