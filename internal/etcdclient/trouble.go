package etcdclient

import (
	"context"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/unalike-id/unalike/internal/drivers"
)

// shortLook is enough for a round trip on a slow link.
const shortLook = 100 * time.Millisecond

// foreign are the signs of a server that ends a connection because it does not
// understand what it gets, or does not know TLS.
var foreign = []string{
	"server preface", "connection reset by peer", "broken pipe",
	"does not look like a TLS handshake", "handshake failed: EOF",
}

// trouble tells what is wrong with the connection of a client whose call got no answer, in
// brackets, or is empty: the client waits for a connection and then only says that time is up.
// It asks for something that costs nothing, at most for 100 ms, also after ctx has ended, and
// without waiting for a connection.
func trouble(ctx context.Context, client *clientv3.Client) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortLook)
	defer cancel()
	_, err := pb.NewKVClient(client.ActiveConnection()).Range(ctx,
		&pb.RangeRequest{Key: []byte{0}, Serializable: true, KeysOnly: true}, grpc.WaitForReady(false))
	s, ok := status.FromError(err)
	switch {
	case !ok:
	case s.Code() == codes.Unavailable, s.Code() == codes.DeadlineExceeded &&
		strings.Contains(s.Message(), "balancer error"):
		if slices.ContainsFunc(foreign, func(sign string) bool {
			return strings.Contains(s.Message(), sign)
		}) {
			secure := slices.ContainsFunc(client.Endpoints(), func(e string) bool {
				return strings.HasPrefix(e, "https:")
			})
			return " (" + s.Message() + "; what listens there does not answer as etcd does: " +
				drivers.Question("an etcd", secure) + ")"
		}
		return " (" + s.Message() + ")"
	}
	return ""
}
