package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Explain adds to an error of a client that works with keys under a prefix what it leaves out. It
// wraps invalid if trying again cannot help. It may ask the server, for 100 ms at most.
func Explain(ctx context.Context, client *clientv3.Client, prefix string,
	invalid, err error,
) error {
	if why := denied(err, prefix); why != "" {
		return fmt.Errorf("%w: %s: %w", invalid, why, err)
	}
	if why := full(err); why != "" {
		return fmt.Errorf("%s: %w", why, err)
	}
	servers := strings.Join(client.Endpoints(), ", ")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s in time: %w%s", servers, err, trouble(ctx, client))
	case Transient(err):
		return fmt.Errorf("%s cannot serve now: %w%s", servers, err, trouble(ctx, client))
	}
	return err
}

// Transient reports whether an error may be gone with the next try.
func Transient(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var server rpctypes.EtcdError
	if errors.As(err, &server) {
		return server.Code() == codes.Unavailable || server.Code() == codes.DeadlineExceeded
	}
	s, ok := status.FromError(err)
	return ok && (s.Code() == codes.Unavailable || s.Code() == codes.DeadlineExceeded)
}
