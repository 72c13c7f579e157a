package etcd

import (
	"context"
	"crypto/rand"
	"time"

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
	revision    int64
	others      bool // somebody stands behind
}

// patience is how long it may take the first in a line, before others remove it: its process has ended.
const patience = 500 * time.Millisecond

// standInLine returns when it is the call's turn.
func (s *Store) standInLine(ctx context.Context, tag string) (*line, error) {
	l := &line{client: s.client, prefix: s.prefix + "\x00" + tag + "\x00"} // no tag begins like that
	l.key = l.prefix + rand.Text()
	resp, err := s.client.Put(ctx, l.key, "")
	if err != nil {
		return l, s.explain(ctx, err)
	}
	l.revision = resp.Header.Revision
	for first := ""; ; {
		before, head, err := l.look(ctx)
		if err != nil || before == "" {
			return l, s.explain(ctx, err)
		}
		if gone := l.await(ctx, before); !gone && head == first {
			_, err = s.client.Delete(ctx, head)
		}
		if first = head; err != nil {
			return l, s.explain(ctx, err)
		}
	}
}

// look looks at the line: who stands before this place, nobody if it is empty, and who is the first.
func (l *line) look(ctx context.Context) (before, first string, err error) {
	resp, err := l.client.Get(ctx, l.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return "", "", err
	}
	l.others = false
	for _, kv := range resp.Kvs {
		switch key := string(kv.Key); {
		case kv.CreateRevision < l.revision && first == "":
			before, first = key, key
		case kv.CreateRevision < l.revision:
			before = key
		case key != l.key:
			l.others = true
		}
	}
	return before, first, nil
}

// await waits until a key is gone, or for patience, and reports whether it is. It watches from now
// on, and looks whether the key is there after that: the server looks at what was before ten times a second.
func (l *line) await(ctx context.Context, key string) (gone bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, _ = l.client.Delete(ctx, l.key)
}
