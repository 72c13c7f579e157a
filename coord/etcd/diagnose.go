package etcd

import (
	"context"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// foreign are the signs of a server that ends a connection because it does not
// understand what it gets.
var foreign = []string{"server preface", "connection reset by peer", "broken pipe"}

// connection tells what is wrong with the connection, if anything is: the client waits for
// one and then only says that time is up. It asks for something that costs nothing, without
// waiting for a connection.
func (st *store) connection(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortestCall)
	defer cancel()
	_, err := pb.NewKVClient(st.client.ActiveConnection()).Range(ctx,
		&pb.RangeRequest{Key: []byte{0}, Serializable: true, KeysOnly: true}, grpc.WaitForReady(false))
	s, ok := status.FromError(err)
	switch {
	case !ok:
	case s.Code() == codes.Unavailable, s.Code() == codes.DeadlineExceeded && strings.Contains(s.Message(), "balancer error"):
		if slices.ContainsFunc(foreign, func(sign string) bool { return strings.Contains(s.Message(), sign) }) {
			return " (" + s.Message() + "; what listens there does not answer as etcd does: is it the port of an etcd for clients?)"
		}
		return " (" + s.Message() + ")"
	}
	return ""
}
