package etcd_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	callTime = drivertest.CallTime
	capacity = drivertest.Capacity
)

var (
	space, tickNow        = drivertest.Space, drivertest.TickNow
	request, within       = drivertest.Request, drivertest.Within
	hurried               = drivertest.Hurried
	mustAcquire, open, at = drivertest.MustAcquire, drivertest.Open, drivertest.At
)

// stored returns the value of a key; empty if there is none.
func stored(tb testing.TB, client *clientv3.Client, key string) string {
	tb.Helper()
	resp, err := client.Get(within(tb), key)
	if err != nil {
		tb.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		return ""
	}
	return string(resp.Kvs[0].Value)
}

// intercept has around called in place of each request of a client. Method is the last part of
// its name, and call makes it.
func intercept(around func(ctx context.Context, method string, req any,
	call func() error) error,
) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		return around(ctx, method[strings.LastIndexByte(method, '/')+1:], req, func() error {
			return invoke(ctx, method, req, reply, cc, opts...)
		})
	})
}

// puts reports whether a request is a transaction that is to write a key with this part.
func puts(req any, part string) bool {
	txn, _ := req.(*pb.TxnRequest)
	return slices.ContainsFunc(txn.GetSuccess(), func(op *pb.RequestOp) bool {
		return strings.Contains(string(op.GetRequestPut().GetKey()), part)
	})
}
