package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// foreign are the signs of a server that ends a connection because it does not
// understand what it gets.
var foreign = []string{"server preface", "connection reset by peer", "broken pipe"}

// diagnose asks for something that costs nothing and does not wait for a connection,
// and returns why there is none; nil: that is not the trouble.
func diagnose(ctx context.Context, client *clientv3.Client) error {
	_, err := pb.NewKVClient(client.ActiveConnection()).Range(ctx,
		&pb.RangeRequest{Key: []byte{0}, Serializable: true, KeysOnly: true}, grpc.WaitForReady(false))
	s, ok := status.FromError(err)
	switch {
	case err == nil || !ok:
		return nil
	case s.Code() == codes.Unavailable, s.Code() == codes.DeadlineExceeded && strings.Contains(s.Message(), "balancer error"):
		if slices.ContainsFunc(foreign, func(sign string) bool { return strings.Contains(s.Message(), sign) }) {
			return errors.New(s.Message() + "; what listens there does not answer as etcd does: is it the port of an etcd for clients?")
		}
		return errors.New(s.Message())
	}
	return nil
}
