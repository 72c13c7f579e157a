package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/tagcheck"
)

// wish is a key by which a take that has met conflicts asks other programs to take a range for it:
// each take of the tag serves the wishes that were read with it. So many takers of one tag need a
// few round trips, and not one each. Every taker also goes on by itself, so that none depends on
// another, and the key of a process that has ended is removed with its lease.
type wish struct {
	id   string
	text string // how many numbers are wanted, and the lease
}

const (
	// mostWishes is how many wishes one change serves, each with two operations. A transaction of
	// etcd has at most 128.
	mostWishes = 60
	// wishTime is how long the wish of a process that has ended stays at most.
	wishTime = 4 * time.Second
	// withdrawTime bounds the removal of a wish after its call has failed.
	withdrawTime = 500 * time.Millisecond
)

// wishKey is the key of a wish, and what the keys of all begin with. No tag begins with its first
// character.
func (s *Store) wishKey(tag, id string) string {
	return s.prefix + "\x00wish\x00" + tag + "\x00" + id
}

// grantKey is where a served wish has the first and the last number of its range.
func (s *Store) grantKey(id string) string { return s.prefix + "\x00granted\x00" + id }

// wish makes one, and returns its ID and the tag as it is then. If the lease has ended, for example
// because the process was stopped, it takes another one.
func (s *Store) wish(ctx context.Context, tag string, size int64) (id string, e entry, err error) {
	id = rand.Text()
	for {
		lease, err := s.lease(ctx)
		if err != nil {
			return "", e, err
		}
		e, err = s.read(ctx, tag, id, clientv3.OpPut(s.wishKey(tag, id), fmt.Sprint(size, int64(lease)),
			clientv3.WithLease(lease)))
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) { //mutant:segment-etcd-lease
			return id, e, err
		}
		s.mu.Lock()
		if s.leased == lease {
			s.since = time.Time{}
		}
		s.mu.Unlock()
	}
}

// lease returns a lease that lasts for at least half of wishTime.
func (s *Store) lease(ctx context.Context) (clientv3.LeaseID, error) {
	s.mu.Lock()
	id, since := s.leased, s.since
	s.mu.Unlock()
	now := time.Now()
	if now.Sub(since) < wishTime/2 {
		return id, nil
	}
	resp, err := s.client.Grant(ctx, int64(wishTime/time.Second))
	if err != nil {
		return 0, s.explain(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased, s.since = resp.ID, now
	return resp.ID, nil
}

// withdraw removes a wish whose call has failed. It ends soon, also if ctx has ended.
func (s *Store) withdraw(ctx context.Context, tag, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	_, _ = s.client.Delete(ctx, s.wishKey(tag, id)) // its lease removes it otherwise
}

// serve takes a range for each wish, and returns what has to be compared and done for that.
func (s *Store) serve(tag string, e *entry) (same []clientv3.Cmp, with []clientv3.Op) {
	for _, w := range e.wishes {
		var size, lease int64
		_, _ = fmt.Sscan(w.text, &size, &lease)
		if tagcheck.Step(size, 1) != nil || size > math.MaxInt64-e.Next {
			continue
		}
		key := s.wishKey(tag, w.id)
		same = append(same, unchanged(key, w.text))
		with = append(with, clientv3.OpDelete(key), clientv3.OpPut(s.grantKey(w.id),
			fmt.Sprint(e.Next, e.Next+size-1), clientv3.WithLease(clientv3.LeaseID(lease))))
		e.Next += size
	}
	return same, with
}
