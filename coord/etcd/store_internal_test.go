package etcd

import (
	"context"
	"crypto/rand"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	t.Parallel()
	client := etcdtest.Start(t).Client(t)
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		tb.Helper()
		namespace := rand.Text()
		life := lifetime.Begin("etcd", namespace)
		tb.Cleanup(life.End)
		st := &store{client: client, keys: keyspace(root + namespace + "/"), life: life}
		return storetest.Harness{
			Store: st,
			Writes: func(tb testing.TB) int64 {
				tb.Helper()
				resp, err := client.Get(context.Background(), "any")
				if err != nil {
					tb.Fatal(err)
				}
				return resp.Header.Revision
			},
			Expire: func(tb testing.TB, worker int) {
				tb.Helper()
				resp, err := client.Get(context.Background(), st.keys.owner(worker))
				if err == nil && len(resp.Kvs) == 1 {
					_, err = client.Revoke(context.Background(), clientv3.LeaseID(resp.Kvs[0].Lease))
				}
				if err != nil {
					tb.Fatal(err)
				}
			},
			Count: func(tb testing.TB) int {
				tb.Helper()
				resp, err := client.Get(context.Background(), string(st.keys), clientv3.WithPrefix(),
					clientv3.WithCountOnly())
				if err != nil {
					tb.Fatal(err)
				}
				return int(resp.Count)
			},
		}
	})
}
