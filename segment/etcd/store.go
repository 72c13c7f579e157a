package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/segment"
)

// root begins all keys.
const root = "/unalike/segments/"

// Options are the settings of [New] beyond client and namespace. The zero Options works.
type Options struct {
	// Skip is what is added to a tag when the cluster is another one than before. 0: refills stop then
	// with segment.ErrStoreChanged until somebody has advanced the tag.
	Skip int64
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// Store keeps the numbers in etcd. It is safe for concurrent use. Make it with [New], or with
// segment.Open. It implements segment.Creator.
type Store struct {
	client    *clientv3.Client
	prefix    string
	skip      int64
	log       *slog.Logger
	done      context.Context // ends with Close
	finish    context.CancelFunc
	free      func() error // frees what was made here
	reconnect etcdclient.Reconnect

	mu      sync.Mutex
	highest map[uint64]int64 // the highest revision seen, by cluster
	known   map[string]entry // what is stored of a tag, as last seen
	// since the cluster went back: what was Accepted of a tag then; nil: it did not
	doubts map[string]int64
	was    string // what it was before that
	once   sync.Once
	closed error
}

// entry is a tag as it is stored.
type entry struct {
	record
	revision int64  // that changed it last
	stored   string // the value
}

var (
	_ segment.Store   = (*Store)(nil)
	_ segment.Creator = (*Store)(nil)
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
	if err := segment.CheckSkip(o.Skip); err != nil {
		return nil, err
	}
	s := &Store{
		client: client, prefix: root + namespace + "/", skip: o.Skip, log: logs.Or(o.Logger),
		highest: map[uint64]int64{}, known: map[string]entry{}, free: func() error { return nil },
	}
	s.done, s.finish = context.WithCancel(context.Background())
	return s, nil
}

// Close implements [segment.Store].
func (s *Store) Close() error {
	s.once.Do(func() {
		s.finish()
		s.closed = s.free()
	})
	return s.closed
}

// Take implements [segment.Store]. It is one round trip if nobody else has taken a range since the
// last one.
func (s *Store) Take(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 0)); err != nil {
		return r, err
	}
	err = s.change(ctx, tag, false, func(e *entry) error {
		size := step
		if size == 0 {
			size = e.Step
			if err := e.checkStep(tag, s.key(tag)); err != nil {
				return err
			}
		}
		if err := e.checkNext(tag, s.key(tag)); err != nil {
			return err
		}
		if e.Next == math.MaxInt64 {
			return fmt.Errorf("%w: tag %q", segment.ErrExhausted, tag)
		}
		r = segment.Range{First: e.Next, Last: e.Next + min(size, math.MaxInt64-e.Next) - 1}
		e.Next = r.Last + 1
		return nil
	})
	if err != nil {
		return segment.Range{}, err
	}
	return r, nil
}

// GiveBack implements [segment.Store].
func (s *Store) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckUnused(unused)); err != nil {
		return false, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	mine, taken := s.last(tag)
	if !taken || mine.Next != unused.Last+1 {
		return false, nil
	}
	after := mine
	after.Next = unused.First
	// The revision of the own take is compared: when this is done, that is so no more.
	_, done, err := s.commit(ctx, tag, mine, after, false)
	return done, err
}

// Advance implements [segment.Store].
func (s *Store) Advance(ctx context.Context, tag string, to int64) error {
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	if to < 0 {
		return fmt.Errorf("%w: the next number is %d; numbers from 0 on are allowed",
			segment.ErrInvalidConfig, to)
	}
	return s.change(ctx, tag, true, func(e *entry) error {
		if to < e.Next {
			return fmt.Errorf("%w: tag %q is at %d already, and %d is lower; numbers go up only",
				segment.ErrInvalidConfig, tag, e.Next, to)
		}
		e.Next = to
		return nil
	})
}

// SetStep implements [segment.Creator].
func (s *Store) SetStep(ctx context.Context, tag string, step int64) error {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 1)); err != nil {
		return err
	}
	return s.change(ctx, tag, false, func(e *entry) error {
		e.Step = step
		return nil
	})
}

// Create implements [segment.Creator].
func (s *Store) Create(ctx context.Context, t segment.Tag) error {
	if err := cmp.Or(segment.CheckTag(t.Name), segment.CheckStep(t.Step, 1)); err != nil {
		return err
	}
	if t.Next < 0 {
		return fmt.Errorf("%w: the first number is %d; numbers from 0 on are allowed",
			segment.ErrInvalidConfig, t.Next)
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	resp, err := s.client.Get(ctx, s.key(t.Name))
	if err != nil {
		return s.explain(ctx, err)
	}
	exists := fmt.Errorf("%w: %q", segment.ErrTagExists, t.Name)
	if len(resp.Kvs) > 0 {
		return exists
	}
	_, done, err := s.commit(ctx, t.Name, entry{},
		entry{record: record{
			Next: t.Next, Step: t.Step, Description: t.Description,
			Cluster: clusterOf(resp.Header),
		}}, false)
	if err == nil && !done {
		return exists
	}
	return err
}

// Tags implements [segment.Store].
func (s *Store) Tags(ctx context.Context) ([]segment.Tag, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	// which leaves out lines
	resp, err := s.client.Get(ctx, s.prefix+" ",
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix)))
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	var all []segment.Tag
	for _, kv := range resp.Kvs {
		all = append(all, s.tag(kv))
	}
	slices.SortFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Tag implements [segment.Store].
func (s *Store) Tag(ctx context.Context, tag string) (t segment.Tag, err error) {
	if err := segment.CheckTag(tag); err != nil {
		return t, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return t, err
	}
	defer end()
	resp, err := s.client.Get(ctx, s.key(tag))
	switch {
	case err != nil:
		return t, s.explain(ctx, err)
	case len(resp.Kvs) == 0:
		return t, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	return s.tag(resp.Kvs[0]), nil
}

// tag is what is stored of a tag.
func (s *Store) tag(kv *mvccpb.KeyValue) segment.Tag {
	key := string(kv.Key)
	t := segment.Tag{Name: strings.TrimPrefix(key, s.prefix)}
	r, err := decode(key, kv.Value)
	if t.Damage = err; err == nil {
		t.Next, t.Step, t.Description, t.Updated = r.Next, r.Step, r.Description, time.Unix(r.Updated, 0)
		t.Damage = cmp.Or(r.checkNext(t.Name, key), r.checkStep(t.Name, key))
	}
	return t
}

func (s *Store) key(tag string) string { return s.prefix + tag }

// clusterOf is the ID of the cluster that has answered.
func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.GetClusterId(), 16) }

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
