package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strconv"
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
	text     string
	revision int64
}

const (
	// mostWishes is how many wishes one change serves. A transaction of etcd has at most 128
	// operations.
	mostWishes = 60
	// wishTime is how long the wish of a process that has ended stays at most. Rounded up to seconds.
	wishTime = 4 * time.Second
	// withdrawTime bounds the removal of a wish after its call has ended.
	withdrawTime = 500 * time.Millisecond
)

// wishesOf begins the keys of the wishes for a tag. No tag begins with its first character.
func (s *Store) wishesOf(tag string) string { return s.prefix + "\x00wish\x00" + tag + "\x00" }

// wish makes one, and returns its key and the tag as it is then.
func (s *Store) wish(ctx context.Context, tag string, size int64) (string, entry, error) {
	lease, err := s.lease(ctx)
	if err != nil {
		return "", entry{}, err
	}
	key := s.wishesOf(tag) + rand.Text()
	e, err := s.read(ctx, tag,
		clientv3.OpPut(key, strconv.FormatInt(size, 10), clientv3.WithLease(lease)))
	return key, e, err
}

// lease returns a lease that ends after at least half of wishTime.
func (s *Store) lease(ctx context.Context) (clientv3.LeaseID, error) {
	s.mu.Lock()
	id, since := s.leased, s.since
	s.mu.Unlock()
	if time.Since(since) < wishTime/2 {
		return id, nil
	}
	now := time.Now()
	resp, err := s.client.Grant(ctx, int64(wishTime/time.Second))
	if err != nil {
		return 0, s.explain(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased, s.since = resp.ID, now
	return resp.ID, nil
}

// withdraw removes a wish that no change has removed. It ends soon, also if ctx has ended.
func (s *Store) withdraw(ctx context.Context, key string) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	_, _ = s.client.Delete(ctx, key) // its lease removes it otherwise
}

// granted returns the range that another program took for a wish.
func (e *entry) granted(key string) (r segment.Range, ok bool) {
	for _, w := range e.wishes {
		if w.key == key {
			n, _ := fmt.Sscan(w.text, &r.First, &r.Last)
			return r, n == 2
		}
	}
	return r, false
}

// serve has a change take a range for each wish, and remove that of its own call.
func (e *entry) serve(own string) {
	if own != "" {
		e.with = append(e.with, clientv3.OpDelete(own))
	}
	for _, w := range e.wishes {
		size, err := strconv.ParseInt(w.text, 10, 64)
		if w.key == own || e.take == 0 || err != nil || segment.CheckStep(size, 1) != nil ||
			size > math.MaxInt64-e.Next {
			continue
		}
		e.same = append(e.same, clientv3.Compare(clientv3.ModRevision(w.key), "=", w.revision))
		e.with = append(e.with, clientv3.OpPut(w.key, fmt.Sprintf("%d %d", e.Next, e.Next+size-1),
			clientv3.WithIgnoreLease()))
		e.Next += size
	}
}
