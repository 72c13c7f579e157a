package etcd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/protocol"
)

// reply is the answer to a transaction.
type reply struct {
	header *pb.ResponseHeader
	done   bool                // the conditions held
	reads  []*pb.RangeResponse // the answers to those operations that read
	// repeated tells that the transaction was sent more than once. If it was not done, it
	// may have been done the first time.
	repeated bool
}

// keys returns the keys that the i-th read found.
func (r *reply) keys(i int) []*mvccpb.KeyValue { return r.reads[i].GetKvs() }

// one returns the key that the i-th read found; nil if there was none.
func (r *reply) one(i int) *mvccpb.KeyValue {
	if kvs := r.keys(i); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// position is what an answer tells of the history of the cluster.
func (r *reply) position(wrote bool) protocol.Position {
	return protocol.Position{
		Lineage: clusterName(r.header.GetClusterId()),
		Number:  r.header.GetRevision(), Wrote: wrote,
	}
}

// clusterName is what is stored of a cluster's ID.
func clusterName(id uint64) string { return strconv.FormatUint(id, 16) }

// transact does then if what is compared holds, and orElse otherwise, in one atomic step.
// It may be sent more than once: whoever writes compares what the first one changes.
// Reading twice does no harm, so a broken connection is given another chance then.
func (st *store) transact(ctx context.Context, compare []clientv3.Cmp, then,
	orElse []clientv3.Op,
) (*reply, error) {
	writes := slices.ContainsFunc(slices.Concat(then, orElse), func(op clientv3.Op) bool {
		return !op.IsGet()
	})
	resp, sent, err := request(ctx, st, !writes, func(ctx context.Context) (*clientv3.TxnResponse,
		error,
	) {
		return st.client.Txn(ctx).If(compare...).Then(then...).Else(orElse...).Commit()
	})
	if err != nil {
		return nil, err
	}
	ops := orElse
	if resp.Succeeded {
		ops = then
	}
	if len(resp.Responses) != len(ops) {
		return nil, fmt.Errorf("etcd has answered %d operations of a transaction with %d",
			len(resp.Responses), len(ops))
	}
	out := &reply{header: resp.Header, done: resp.Succeeded, repeated: sent > 1}
	for i, op := range ops {
		if op.IsGet() {
			out.reads = append(out.reads, resp.Responses[i].GetResponseRange())
		}
	}
	return out, nil
}

// fetch reads several keys at one moment.
func (st *store) fetch(ctx context.Context, ops ...clientv3.Op) (*reply, error) {
	return st.transact(ctx, nil, ops, nil)
}

// request is ask with what surrounds every request.
func request[T any](ctx context.Context, st *store, repeat bool,
	do func(context.Context) (T, error),
) (answer T, sent int, err error) {
	st.reconnect.Before(st.client)
	answer, sent, err = ask(ctx, len(st.client.Endpoints()), repeat, do)
	if err == nil {
		return answer, sent, nil
	}
	if etcdclient.Transient(err) {
		st.reconnect.Failed()
	}
	return answer, sent, etcdclient.Explain(ctx, st.client, string(st.keys), coord.ErrInvalid, err)
}
