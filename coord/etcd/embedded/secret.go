package embedded

import (
	"context"
	"crypto/subtle"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// header carries the name of the folder whose server a call is meant for.
const header = "unalike-folder"

// secret is a folder's random name, which a client shows with each call. A post that
// a crash left behind may name a port that the server of another folder has by now;
// and on loopback any user of the machine can connect.
type secret struct{ folder atomic.Pointer[string] }

func (s *secret) set(folder string) { s.folder.Store(&folder) }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (s *secret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if f := s.folder.Load(); f != nil {
		return map[string]string{header: *f}, nil
	}
	return nil, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (s *secret) RequireTransportSecurity() bool { return false }

func (s *secret) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithPerRPCCredentials(s)}
}

// guard returns options of a server that lets only calls to its own folder in. To the
// others it is unavailable: they have the wrong address and are to look for a new one.
func guard(folder string) []grpc.ServerOption {
	check := func(ctx context.Context) error {
		if v := metadata.ValueFromIncomingContext(ctx, header); len(v) == 1 &&
			subtle.ConstantTimeCompare([]byte(v[0]), []byte(folder)) == 1 {
			return nil
		}
		return status.Error(codes.Unavailable, "this is the server of another folder")
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
			next grpc.UnaryHandler,
		) (any, error) {
			if err := check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo,
			next grpc.StreamHandler,
		) error {
			if err := check(s.Context()); err != nil {
				return err
			}
			return next(srv, s)
		}),
	}
}
