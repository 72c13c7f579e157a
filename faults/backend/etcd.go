package backend

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// startEtcd is an etcd cluster, maybe of one member.
func startEtcd(tb testing.TB, members int) *Backend {
	tb.Helper()
	start := etcdtest.StartCluster
	if members > 1 {
		start = etcdtest.StartDivisible
	}
	c := start(tb, members)
	b := &Backend{Way: StartWay(tb, c.Endpoints()...), call: []byte("/unalike/"), restart: c.Restart}
	for _, m := range c.Members {
		b.Servers, b.dirs = append(b.Servers, m), append(b.dirs, m.Dir)
	}
	b.url = func(o url.Values) string {
		namespace := o.Get("namespace")
		o.Del("namespace")
		return "etcd://" + strings.Join(b.Way.Addrs(), ",") + "/" + namespace + query(o)
	}
	b.Fill, b.Drain = full(c)
	b.EndLeases = func(tb testing.TB) (ended int) {
		tb.Helper()
		ask(tb, c, func(ctx context.Context, client *clientv3.Client) error {
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
		b.Leader = func(tb testing.TB) Server { tb.Helper(); return c.Leader(tb) }
		b.CutOff = func(tb testing.TB, s Server) { tb.Helper(); c.CutOff(tb, s.(*etcdtest.Member)) }
		b.Rejoin = func(tb testing.TB, s Server) { tb.Helper(); c.Rejoin(tb, s.(*etcdtest.Member)) }
	}
	return b
}

// ask makes calls at the members, and not through the proxy. They must succeed.
func ask(tb testing.TB, c *etcdtest.Cluster, calls func(context.Context, *clientv3.Client) error) {
	tb.Helper()
	client := c.Client(tb)
	defer client.Close()
	if err := calls(streamtest.Within(tb), client); err != nil {
		tb.Fatal(err)
	}
}

// full tells a cluster that a member has reached the quota of its database, which is all that the
// others know of a disk that is full, and ends that.
func full(c *etcdtest.Cluster) (fill, drain func(testing.TB)) {
	return func(tb testing.TB) {
			tb.Helper()
			ask(tb, c, func(ctx context.Context, client *clientv3.Client) error {
				s, err := client.Status(ctx, c.Members[0].Endpoint)
				if err != nil {
					return err
				}
				_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{
					Action: pb.AlarmRequest_ACTIVATE, MemberID: s.Header.GetMemberId(),
					Alarm: pb.AlarmType_NOSPACE,
				})
				return err
			})
		}, func(tb testing.TB) {
			tb.Helper()
			ask(tb, c, func(ctx context.Context, client *clientv3.Client) error {
				_, err := client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
				return err
			})
		}
}

// startKubernetes is an API server on an etcd of its own, without anything else of a cluster.
// Clients reach it as 'kubectl proxy' lets them, in plain text: so the proxy of the suite can
// tell requests apart.
func startKubernetes(tb testing.TB) *Backend {
	tb.Helper()
	kubetest.Binary(tb) // else there is no use for the etcd
	c := etcdtest.StartCluster(tb, 1)
	api := kubetest.StartOn(tb, strings.TrimPrefix(c.Endpoints()[0], "http://"))
	in := api.Namespace(tb)
	store := &below{c.Members[0], api}
	b := &Backend{
		Way: StartWay(tb, api.Proxy(tb)), Servers: []Server{api, store},
		call: []byte("/leases"), dirs: []string{store.Dir},
	}
	b.url = func(o url.Values) string {
		o.Set("in", in)
		return "kubernetes+http://" + b.Way.Addrs()[0] + query(o)
	}
	b.restart = func(tb testing.TB) { tb.Helper(); restartEnded(tb, store); restartEnded(tb, api) }
	b.Fill, b.Drain = full(c)
	b.Loses = []Loss{{"Leases deleted", func(tb testing.TB) {
		tb.Helper()
		leases := "/apis/coordination.k8s.io/v1/namespaces/" + in + "/leases"
		if code, answer := api.Do(http.MethodDelete, leases, "", nil); code != http.StatusOK {
			tb.Fatalf("DELETE %s: status %d: %s", leases, code, answer)
		}
	}}}
	return b
}

// below is the etcd of an API server. It serves when that does.
type below struct {
	*etcdtest.Member
	api *kubetest.Server
}

// Restart implements Server.
func (s *below) Restart(tb testing.TB) {
	tb.Helper()
	s.Member.Restart(tb)
	if !s.api.Ended() {
		s.api.Await(tb)
	}
}
