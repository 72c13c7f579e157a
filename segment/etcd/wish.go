package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/segment"
)

// wish is a key by which a take that has met conflicts asks other programs to take a range for it:
// each change of a tag serves the wishes that were read with it. So many takers of one tag need a
// few round trips, and not one each. Every taker also goes on by itself, so that none depends on
// another, and the key of a process that has ended is removed with its lease.
type wish struct {
	key string
	// text is how many numbers are wanted, or the first and the last one that were taken.
	text  string
	lease clientv3.LeaseID // known for an own one
}

const (
	// mostWishes is how many wishes one change serves. A transaction of etcd has at most 128
	// operations.
	mostWishes = 60
	// wishTime is how many seconds the wish of a process that has ended stays.
	wishTime = 4
	// withdrawTime bounds the removal of a wish after its call has ended.
	withdrawTime = 500 * time.Millisecond
)

// wishesOf begins the keys of the wishes for a tag. No tag begins with its first character.
func (s *Store) wishesOf(tag string) string { return s.prefix + "\x00wish\x00" + tag + "\x00" }

// wish makes one, and returns the tag as it is then.
func (s *Store) wish(ctx context.Context, tag string, size int64) (w wish, e entry, err error) {
	lease, err := s.client.Grant(ctx, wishTime)
	if err != nil {
		return w, e, s.explain(ctx, err)
	}
	w = wish{s.wishesOf(tag) + rand.Text(), fmt.Sprint(size), lease.ID}
	e, err = s.read(ctx, tag, clientv3.OpPut(w.key, w.text, clientv3.WithLease(w.lease)))
	return w, e, err
}

// withdraw removes a wish that no change has removed. It ends soon, also if ctx has ended.
func (s *Store) withdraw(ctx context.Context, w wish) {
	if w.lease == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	_, _ = s.client.Revoke(ctx, w.lease) // it ends by itself otherwise
}

// granted returns the range that another program took for a wish.
func (e *entry) granted(own wish) (r segment.Range, ok bool) {
	for _, w := range e.wishes {
		if w.key == own.key {
			n, _ := fmt.Sscan(w.text, &r.First, &r.Last)
			return r, n == 2
		}
	}
	return r, false
}

// serve takes a range for each wish, if it is to serve all, and returns what has to be compared and
// done for that. The own wish is removed.
func (e *entry) serve(all bool, own wish) (same []clientv3.Cmp, with []clientv3.Op) {
	if own.key != "" {
		with = append(with, clientv3.OpDelete(own.key))
	}
	for _, w := range e.wishes {
		var size, last int64
		n, _ := fmt.Sscan(w.text, &size, &last)
		if n == 1 && all && w.key != own.key && segment.CheckStep(size, 1) == nil &&
			size <= math.MaxInt64-e.Next {
			same = append(same, unchanged(w.key, w.text))
			with = append(with, clientv3.OpPut(w.key, fmt.Sprint(e.Next, e.Next+size-1),
				clientv3.WithIgnoreLease()))
			e.Next += size
		}
	}
	e.wishes = nil
	return same, with
}
