package backend

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// startEtcd is an etcd cluster, maybe of one member.
func startEtcd(tb testing.TB, members int) *Backend {
	tb.Helper()
	all := etcdtest.StartCluster(tb, members)
	b := &Backend{call: []byte("/unalike/"), Faults: []Fault{full(tb, all)}}
	for _, s := range all {
		b.Servers, b.dirs = append(b.Servers, s), append(b.dirs, s.Dir)
		b.Way = append(b.Way, proxytest.Start(tb, s.Endpoint))
	}
	b.url = func(o url.Values) string {
		namespace := o.Get("namespace")
		o.Del("namespace")
		return "etcd://" + strings.Join(b.Way.Addrs(), ",") + "/" + namespace + query(o)
	}
	b.EndLeases = func() (ended int) {
		ask(tb, all, func(ctx context.Context, client *clientv3.Client) error {
			leases, err := client.Leases(ctx)
			if err != nil {
				return err
			}
			for _, l := range leases.Leases {
				if _, err := client.Revoke(ctx, l.ID); err == nil { // else it has ended by itself
					ended++
				}
			}
			return nil
		})
		return ended
	}
	if members > 1 {
		b.Leader = func() Server { return leader(tb, all) }
	}
	return b
}

// leader returns the member that leads; it waits until one does.
func leader(tb testing.TB, all []*etcdtest.Server) (leads *etcdtest.Server) {
	tb.Helper()
	ask(tb, all, func(_ context.Context, client *clientv3.Client) error {
		leads = proctest.First(tb, "a member leads", all, func(s *etcdtest.Server) bool {
			ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
			defer cancel()
			status, err := client.Status(ctx, s.Endpoint)
			return err == nil && status.Leader != 0 && status.Leader == status.Header.GetMemberId()
		})
		return nil
	})
	return leads
}

// ask makes calls at the members, and not through the proxy. They must succeed.
func ask(tb testing.TB, all []*etcdtest.Server,
	calls func(context.Context, *clientv3.Client) error,
) {
	tb.Helper()
	var endpoints []string
	for _, s := range all {
		endpoints = append(endpoints, s.Endpoint)
	}
	client := etcdtest.Connect(tb, endpoints)
	defer client.Close()
	if err := calls(streamtest.Within(tb), client); err != nil {
		tb.Fatal(err)
	}
}

// full is that a member tells the others that it has reached the quota of its database, which is
// all that they know of a disk that is full.
func full(tb testing.TB, all []*etcdtest.Server) Fault {
	tb.Helper()
	return Fault{noSpace, func() {
		ask(tb, all, func(ctx context.Context, client *clientv3.Client) error {
			s, err := client.Status(ctx, all[0].Endpoint)
			if err != nil {
				return err
			}
			_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
				Action: pb.AlarmRequest_ACTIVATE, MemberID: s.Header.GetMemberId(),
				Alarm: pb.AlarmType_NOSPACE,
			})
			return err
		})
	}, func() {
		ask(tb, all, func(ctx context.Context, client *clientv3.Client) error {
			_, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
			return err
		})
	}}
}

// startKubernetes is an API server on an etcd of its own, without anything else of a cluster.
// Clients reach it as 'kubectl proxy' lets them, in plain text: so the proxy of the suite can
// tell requests apart.
func startKubernetes(tb testing.TB) *Backend {
	tb.Helper()
	api := kubetest.Start(tb)
	in := api.Namespace(tb)
	b := &Backend{
		Way: StartWay(tb, api.Proxy(tb)), Servers: []Server{api.Etcd, api},
		call: []byte("/leases"), dirs: []string{api.Etcd.Dir},
		Faults: []Fault{full(tb, []*etcdtest.Server{api.Etcd})},
	}
	b.url = func(o url.Values) string {
		o.Set("in", in)
		return "kubernetes+http://" + b.Way.Addrs()[0] + query(o)
	}
	b.Losses = []Loss{{Name: "Leases deleted", Do: func() {
		leases := "/apis/coordination.k8s.io/v1/namespaces/" + in + "/leases"
		if code, answer := api.Do(http.MethodDelete, leases, "", nil); code != http.StatusOK {
			tb.Fatalf("DELETE %s: status %d: %s", leases, code, answer)
		}
	}}}
	return b
}
