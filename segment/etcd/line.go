package etcd

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// line is the place of a call among those that want to change a tag. A change is made if nobody
// else's came between it and the reading before it, so that of many who try at once nearly all
// try in vain, and some for a long time. They stand in line: each has a key, and waits until the
// one before it is gone. That is a courtesy, on which nothing depends: who does not know of the
// line, or thinks it too long, goes on without.
type line struct {
	client      *clientv3.Client
	prefix, key string
	others      bool // somebody stands behind
}

// waitTime is how long it may take each in a line. Who has waited twice as long behind the same
// first one removes it: its process has ended.
const waitTime = 500 * time.Millisecond

// standInLine returns when it is the call's turn, and the tag as it is stored then.
func (s *Store) standInLine(ctx context.Context, tag string, anywhere bool) (*line, entry, error) {
	l := &line{client: s.client, prefix: s.prefix + "\x00" + tag + "\x00"} // no tag begins like that
	l.key = l.prefix + rand.Text()
	ops := []clientv3.Op{
		clientv3.OpPut(l.key, ""), clientv3.OpGet(s.key(tag)),
		clientv3.OpGet(l.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)),
	}
	for first := ""; ; ops = ops[len(ops)-2:] {
		sent := s.sights()
		resp, err := s.client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return l, entry{}, s.explain(ctx, err)
		}
		kvs := resp.Responses[len(ops)-1].GetResponseRange().Kvs
		// others may have removed it
		mine := max(slices.IndexFunc(kvs, func(kv *mvccpb.KeyValue) bool {
			return string(kv.Key) == l.key
		}), 0)
		if mine == 0 {
			l.others = len(kvs) > 1
			before, err := s.seen(tag, resp.Header, resp.Responses[len(ops)-2].GetResponseRange().Kvs, sent,
				anywhere)
			return l, before, err
		}
		head := string(kvs[0].Key)
		if gone := l.await(ctx, string(kvs[mine-1].Key), waitTime*time.Duration(mine)); !gone &&
			head == first {
			_, err = s.client.Delete(ctx, head)
		}
		if first = head; err != nil {
			return l, entry{}, s.explain(ctx, err)
		}
	}
}

// await waits until a key is gone, or for a time, and reports whether it is. It watches from now
// on, and looks whether the key is there after that: the server looks at what was before ten times
// a second.
func (l *line) await(ctx context.Context, key string, most time.Duration) (gone bool) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	events := l.client.Watch(ctx, key, clientv3.WithFilterPut())
	if resp, err := l.client.Get(ctx, key, clientv3.WithCountOnly()); err == nil && resp.Count == 0 {
		return true
	}
	return len((<-events).Events) > 0
}

// end is what removes a place together with what it was for; nil: there is none.
func (l *line) end() []clientv3.Op {
	if l == nil {
		return nil
	}
	return []clientv3.Op{clientv3.OpDelete(l.key)}
}

// leave leaves the line with nothing done. It ends soon, also if ctx has ended.
func (l *line) leave(ctx context.Context) {
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
	defer cancel()
	_, _ = l.client.Delete(ctx, l.key)
}
