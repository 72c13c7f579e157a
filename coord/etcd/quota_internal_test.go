package etcd

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestRoom: a database that fills up is warned of, once until it is emptier.
func TestRoom(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	if status, err := server.Client(t).Status(t.Context(), server.Endpoint); err != nil ||
		status.DbSizeQuota <= status.DbSize {
		t.Fatalf("the server does not tell its quota: %v, %v", status, err)
	}
	var size, quota int64
	told := func() {}
	tells := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any,
		cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if status, ok := reply.(*pb.StatusResponse); ok {
			status.DbSize, status.DbSizeQuota = size, quota
			told()
		}
		return err
	})
	var log bytes.Buffer
	st := &store{
		client: server.Client(t, tells), keys: keyspace(root + "orders/"),
		log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	full := false
	for _, step := range []struct {
		size, quota int64
		warns       bool
	}{
		{59, 100, false},
		{61, 100, true},
		{62, 100, false},
		{62, 0, false}, // which is not told
		{62, 100, false},
		{60, 100, false},
		{61, 100, true},
	} {
		log.Reset()
		size, quota = step.size, step.quota
		full = st.lookAtRoom(t.Context(), full)
		if warned := strings.Contains(log.String(), "fills up") &&
			strings.Contains(log.String(), "/unalike/orders/"); warned != step.warns {
			t.Errorf("%+v: the log is %q", step, log.String())
		}
	}
	log.Reset()
	ctx, end := context.WithCancel(t.Context())
	told = end
	ticks := make(chan time.Time, 1)
	ticks <- time.Time{}
	st.watchRoom(ctx, ticks)
	if !strings.Contains(log.String(), "fills up") {
		t.Errorf("with a tick, the log is %q", log.String())
	}
}

// TestNoSpace: a database that has reached its quota is named in the error, with what to do
// about it, and the next renewal after that succeeds.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	client := server.Client(t)
	c, err := New(client, "orders", Options{})
	c = drivertest.Closing(t, c, err)
	g := drivertest.MustAcquire(t, c, drivertest.Request(8))
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(),
		alarm); err != nil {
		t.Fatal(err)
	}
	const says = "the database of the etcd cluster has reached its quota, and takes no writes: " +
		"compact it (etcdctl compact), "
	_, renewed := c.Renew(drivertest.Within(t), g, g.NotAfter+1)
	_, acquired := c.Acquire(drivertest.Within(t), drivertest.Request(8))
	for _, err := range []error{renewed, acquired} {
		if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want an error that says %q and may pass", err, says)
		}
	}
	if _, err := client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1); err != nil {
		t.Errorf("Renew after the alarm was cleared: %v", err)
	}
}
