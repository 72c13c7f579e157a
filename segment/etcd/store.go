package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/internal/tagstore"
	"github.com/unalike-id/unalike/segment"
)

// root begins all keys.
const root = "/unalike/segments/"

// Options are the settings of [New] beyond client and namespace. The zero Options works.
type Options struct {
	// Skip is added to every tag, once, when the cluster has changed. 0: every program refuses it with
	// segment.ErrStoreChanged until all tags are advanced.
	Skip int64
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// Store keeps the numbers in etcd. It is safe for concurrent use. Make it with [New], or with
// segment.Open. It implements segment.Creator, segment.Advancer and segment.Pruner.
type Store struct {
	tagstore.Store
	client    *clientv3.Client
	prefix    string
	skip      int64
	log       *slog.Logger
	done      context.Context // ends with Close
	free      func() error    // frees what was made here
	reconnect etcdclient.Reconnect
	closing   func() error

	mu     sync.Mutex
	last   observed
	known  map[string]entry         // tags as this store has left them
	tried  map[string]entry         // tags as calls that have failed since read or wrote them
	leased clientv3.LeaseID         // for wishes
	since  time.Time                // when it was granted
	turns  map[string]chan struct{} // of tags; each holds something while a call changes its tag
}

var (
	_ segment.Store    = (*Store)(nil)
	_ segment.Creator  = (*Store)(nil)
	_ segment.Advancer = (*Store)(nil)
	_ segment.Pruner   = (*Store)(nil)
)

// New returns a store in a namespace of the cluster that a client is connected to. It contacts
// nobody. The client stays the caller's: close it after the store. Errors wrap
// [segment.ErrInvalidConfig].
func New(client *clientv3.Client, namespace string, o Options) (*Store, error) {
	switch err := driver.CheckNamespace(namespace); {
	case client == nil:
		return nil, fmt.Errorf("%w: the etcd client is nil", segment.ErrInvalidConfig)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	if err := tagcheck.Skip(o.Skip); err != nil {
		return nil, err
	}
	s := &Store{
		client: client, prefix: root + namespace + "/", skip: o.Skip, log: logs.Or(o.Logger),
		known: map[string]entry{}, tried: map[string]entry{}, turns: map[string]chan struct{}{},
		free: func() error { return nil },
	}
	done, finish := context.WithCancel(context.Background())
	s.done = done
	s.closing = sync.OnceValue(func() error {
		finish()
		return s.free()
	})
	s.Store = tagstore.New(s.change, s.list, s.where)
	return s, nil
}

// Close implements [segment.Store].
func (s *Store) Close() error { return s.closing() }

// GiveBack implements [segment.Store]. It compares what the own take has left, so that a repetition
// changes nothing.
func (s *Store) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Unused(unused)); err != nil {
		return false, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	mine, taken := s.seenLast(tag)
	if !taken || mine.Next != unused.Last+1 {
		return false, nil
	}
	s.mu.Lock()
	if now := s.known[tag]; now.used == unused.Last+1 { // whatever becomes of the call
		now.used = unused.First
		s.known[tag] = now
	}
	s.mu.Unlock()
	after := mine
	after.Next = unused.First
	e, done, err := s.commit(ctx, tag, mine, after, false, "")
	if done {
		s.handOut(tag, e, segment.Range{First: unused.First, Last: unused.First - 1})
	}
	return done, err
}

// AdvanceAll implements [segment.Advancer]. It is one write, however many tags there are: each is
// raised when it is used next.
func (s *Store) AdvanceAll(ctx context.Context, by int64) error {
	if err := tagstore.CheckNumber("number to add", by); err != nil {
		return err
	}
	return s.share(ctx, "", func(c *cluster) error {
		c.Refused = ""
		c.Add(by)
		return nil
	})
}

// Prune implements [segment.Pruner].
func (s *Store) Prune(ctx context.Context, tag string, before time.Time) (removed int, err error) {
	err = s.share(ctx, tag, func(c *cluster) error { return c.Prune(tag, before) })
	if err != nil {
		return 0, err
	}
	all, err := s.list(ctx, "")
	if err != nil {
		return 0, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	for _, t := range all {
		if !tagcheck.IsPast(t.Name, tag, before) {
			continue
		}
		if _, err := s.client.Delete(ctx, s.key(t.Name)); err != nil {
			return removed, s.explain(ctx, err)
		}
		removed++
	}
	return removed, nil
}

// share has f change the cluster record. If a tag is named, it has to be there.
func (s *Store) share(ctx context.Context, tag string, f func(c *cluster) error) error {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for done := false; !done && err == nil; {
		var e entry
		sent := s.observed()
		if e, err = s.read(ctx, tag, ""); err == nil && tag != "" && e.stored == "" {
			err = tagstore.Unknown(tag)
		}
		if err == nil {
			err = f(&e.cluster)
		}
		if err == nil {
			done, err = s.replace(ctx, e.naming, e.cluster, sent)
		}
	}
	return err
}

// allTags has a read begin at the first character of a tag: other keys begin with one below.
func (s *Store) allTags() clientv3.OpOption {
	return clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix))
}

// list returns a tag, or all. It changes nothing.
func (s *Store) list(ctx context.Context, tag string) ([]segment.Tag, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	get := clientv3.OpGet(s.key(tag))
	if tag == "" {
		get = clientv3.OpGet(s.prefix+" ", s.allTags())
	}
	resp, err := s.client.Txn(ctx).Then(clientv3.OpGet(s.clusterKey()), get).Commit()
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	var c cluster
	_, err = decode(resp.Responses[0].GetResponseRange().Kvs, &c, &c.Version)
	var all []segment.Tag
	for kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) > 0; kvs = kvs[1:] {
		var r record
		name := strings.TrimPrefix(string(kvs[0].Key), s.prefix)
		_, damage := decode(kvs, &r, &r.Version)
		r.include(c)
		t := r.Tag(name, s.where(name))
		t.Damage = cmp.Or(damage, t.Damage)
		all = append(all, t)
	}
	return all, err
}

// where names the place of a tag.
func (s *Store) where(tag string) string { return "key " + s.key(tag) }

func (s *Store) key(tag string) string { return s.prefix + tag }

// begin begins an operation: it returns a context that ends with the store as well, and what ends
// the operation, or an error if the store is closed or ctx has ended.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if s.done.Err() != nil {
		return ctx, nil, segment.ErrClosed
	}
	if ctx.Err() != nil {
		return ctx, nil, context.Cause(ctx)
	}
	s.reconnect.Before(s.client)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.done, func() { cancel(segment.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// explain notes that a request has failed, and adds to the error what it leaves out, and why it was
// ended.
func (s *Store) explain(ctx context.Context, err error) error {
	s.reconnect.Failed()
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	err = etcdclient.Explain(ctx, s.client, s.prefix, segment.ErrInvalidConfig, err)
	if errors.Is(err, segment.ErrInvalidConfig) || errors.Is(err, segment.ErrClosed) {
		return err
	}
	return fmt.Errorf("etcd: %w", err)
}
