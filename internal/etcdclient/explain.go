package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/internal/wrongserver"
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
	if what := another(err); what != "" {
		return fmt.Errorf("%w: %s: %w", invalid, wrongserver.Says(wrongserver.Etcd, what, servers), err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s in time: %w%s", servers, err, trouble(ctx, client))
	case Transient(err):
		return fmt.Errorf("%s cannot serve now: %w%s", servers, err, trouble(ctx, client))
	}
	return err
}

// statusOfHTTP matches the error of gRPC for an HTTP status of a server that does not know the
// request. A proxy without a server behind it, and a refused user, have other statuses.
var statusOfHTTP = regexp.MustCompile(`HTTP status code received from server: 4(00|04|05|15)`)

// another describes a server that has answered and is no etcd; empty: it may be one.
func another(err error) string {
	s, ok := status.FromError(err)
	switch {
	case !ok:
	case statusOfHTTP.MatchString(s.Message()):
		return "an HTTP server"
	case s.Code() == codes.Unimplemented:
		return "another server of gRPC"
	case strings.Contains(s.Message(), "unsupported operations in txn request"),
		strings.HasPrefix(s.Message(), "unsupported transaction"):
		return "kine, or another server without etcd's transactions,"
	}
	return ""
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
