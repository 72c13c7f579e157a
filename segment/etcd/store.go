package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

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
// segment.Open. It implements segment.Creator and segment.Advancer.
type Store struct {
	client    *clientv3.Client
	prefix    string
	skip      int64
	log       *slog.Logger
	done      context.Context // ends with Close
	free      func() error    // frees what was made here
	reconnect etcdclient.Reconnect
	closing   func() error

	mu    sync.Mutex
	last  sight
	known map[string]entry // tags as this store has left them
	used  map[string]int64 // the number above the last one that was handed out, by tag
}

var (
	_ segment.Store    = (*Store)(nil)
	_ segment.Creator  = (*Store)(nil)
	_ segment.Advancer = (*Store)(nil)
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
		known: map[string]entry{}, used: map[string]int64{}, free: func() error { return nil },
	}
	done, finish := context.WithCancel(context.Background())
	s.done = done
	s.closing = sync.OnceValue(func() error {
		finish()
		return s.free()
	})
	return s, nil
}

// Close implements [segment.Store].
func (s *Store) Close() error { return s.closing() }

// Take implements [segment.Store]. It is one round trip if no other program has changed the tag
// since the last one.
func (s *Store) Take(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 0)); err != nil {
		return r, err
	}
	for taken := false; !taken && err == nil; {
		r, err = s.change(ctx, tag, func(e *entry) error {
			if err := cmp.Or(e.check(tag), e.damage(tag, s.key(tag), step)); err != nil {
				return err
			}
			s.mu.Lock()
			used := max(e.Used, s.used[tag])
			s.mu.Unlock()
			e.take = min(cmp.Or(step, e.Step), math.MaxInt64-e.Next)
			switch {
			case e.take == 0:
				return fmt.Errorf("%w: tag %q", segment.ErrExhausted, tag)
			case e.Next >= used: //mutant:segment-etcd-used
				taken = true
				e.Next += e.take
			case e.Used == used:
				return &segment.WentBackError{
					Tag: tag, Got: segment.Range{First: e.Next, Last: e.Next + e.take - 1}, Above: used - 1,
				}
			default: // every program refuses the tag from now on
				taken, e.take, e.Used = false, 0, used
			}
			return nil
		})
	}
	return r, err
}

// GiveBack implements [segment.Store]. It compares what the own take has left, so that a repetition
// changes nothing.
func (s *Store) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckUnused(unused)); err != nil {
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
	if s.used[tag] == mine.Next {
		s.used[tag] = unused.First
	}
	s.mu.Unlock()
	after := mine
	after.Next = unused.First
	_, done, err := s.commit(ctx, tag, mine, after, wish{})
	return done, err
}

// Advance implements [segment.Store]. In a cluster that programs refuse, they use this tag then.
func (s *Store) Advance(ctx context.Context, tag string, to int64) error {
	if err := cmp.Or(segment.CheckTag(tag), checkNumber("next number", to)); err != nil {
		return err
	}
	_, err := s.change(ctx, tag, func(e *entry) error {
		e.Accepted = e.cluster.Stamp
		if at := max(e.Next, e.Used); to < at {
			return cmp.Or(e.check(tag), fmt.Errorf("%w: tag %q is at %d already, and %d is lower; numbers "+
				"go up only", segment.ErrInvalidConfig, tag, at, to))
		}
		e.Next = to
		return e.check(tag)
	})
	return err
}

// AdvanceAll implements [segment.Advancer]. It is one write, however many tags there are: each is
// raised when it is used next.
func (s *Store) AdvanceAll(ctx context.Context, by int64) error {
	if err := checkNumber("number to add", by); err != nil {
		return err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for done := false; !done && err == nil; {
		var e entry
		sent := s.sight()
		if e, err = s.read(ctx, ""); err == nil {
			e.cluster.skip(by)
			done, err = s.replace(ctx, e.naming, e.cluster, sent)
		}
	}
	return err
}

// SetStep implements [segment.Creator].
func (s *Store) SetStep(ctx context.Context, tag string, step int64) error {
	if err := cmp.Or(segment.CheckTag(tag), segment.CheckStep(step, 1)); err != nil {
		return err
	}
	_, err := s.change(ctx, tag, func(e *entry) error {
		e.Step = step
		return e.check(tag)
	})
	return err
}

// Create implements [segment.Creator].
func (s *Store) Create(ctx context.Context, t segment.Tag) error {
	if err := cmp.Or(segment.CheckTag(t.Name), segment.CheckStep(t.Step, 1),
		checkNumber("first number", t.Next)); err != nil {
		return err
	}
	_, err := s.change(ctx, t.Name, func(e *entry) error {
		if e.stored != "" {
			return fmt.Errorf("%w: %q", segment.ErrTagExists, t.Name)
		}
		e.record = record{Next: t.Next, Step: t.Step, Description: t.Description}
		if t.Since.IsZero() {
			e.Accepted = e.cluster.Stamp
		} else if e.cluster.SkippedAt >= t.Since.Unix() { //mutant:segment-etcd-since
			e.include(e.cluster)
		}
		e.Skipped = e.cluster.Skipped
		e.stored = "created"
		return e.check(t.Name)
	})
	return err
}

// checkNumber returns an error if a number is below 0.
func checkNumber(what string, n int64) error {
	if n < 0 {
		return fmt.Errorf("%w: the %s is %d; numbers from 0 on are allowed", segment.ErrInvalidConfig,
			what, n)
	}
	return nil
}

// Tags implements [segment.Store].
func (s *Store) Tags(ctx context.Context) ([]segment.Tag, error) {
	all, err := s.tags(ctx, s.prefix+" ", s.allTags())
	slices.SortFunc(all, func(a, b segment.Tag) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// allTags has a read begin at the first character of a tag: other keys begin with one below.
func (s *Store) allTags() clientv3.OpOption {
	return clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix))
}

// Tag implements [segment.Store].
func (s *Store) Tag(ctx context.Context, tag string) (segment.Tag, error) {
	if err := segment.CheckTag(tag); err != nil {
		return segment.Tag{}, err
	}
	all, err := s.tags(ctx, s.key(tag))
	if err != nil {
		return segment.Tag{}, err
	}
	if len(all) == 0 {
		return segment.Tag{}, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	return all[0], nil
}

// tags reads some tags, and changes nothing.
func (s *Store) tags(ctx context.Context, key string, o ...clientv3.OpOption) ([]segment.Tag, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	resp, err := s.client.Txn(ctx).Then(
		clientv3.OpGet(s.clusterKey()), clientv3.OpGet(key, o...)).Commit()
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	var c cluster
	_, err = decode(resp.Responses[0].GetResponseRange().Kvs, &c, &c.Version)
	var all []segment.Tag
	for kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) > 0; kvs = kvs[1:] {
		var r record
		key := string(kvs[0].Key)
		t := segment.Tag{Name: strings.TrimPrefix(key, s.prefix)}
		if _, t.Damage = decode(kvs, &r, &r.Version); t.Damage == nil {
			r.include(c)
			t.Next, t.Step, t.Description, t.Updated = r.Next, r.Step, r.Description, time.Unix(r.Updated, 0)
			t.Damage = r.damage(t.Name, key, 0)
		}
		all = append(all, t)
	}
	return all, err
}

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
