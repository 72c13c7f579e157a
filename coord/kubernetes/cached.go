package kubernetes

import (
	"context"
	"fmt"
	"maps"
)

// An API server answers lists from its cache. That is as new as its store, as far as it can tell: by the store's
// revision. Where etcd was put back to an older state below API servers that go on, their caches are of a
// later one, and nothing that they list can be changed: what is written is compared with what etcd has. They
// have to be started again. No order of versions is needed to find that out. What an object says is random
// with every write, so that nothing comes back which something else has taken the place of.

// doubt takes note of an object that is not stored as it was read, most likely: a write of it was refused.
func (s *store) doubt(o *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[o.name] = o
}

// doubted are the objects that were doubted so far.
func (s *store) doubted() map[string]*object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.doubts)
}

// settleDoubts takes note of a list that was begun after objects were doubted. It returns one that is
// listed as it was nevertheless; nil: there is none.
func (s *store) settleDoubts(doubted map[string]*object, a *all) (still *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range doubted {
		if now := s.find(a, name); now.is(o) {
			still = now
		}
		if s.doubts[name] == o {
			delete(s.doubts, name)
		}
	}
	return still
}

// current looks whether an object is stored as it was listed, and if not, lists again. The error
// is that of lists which show what is stored no more.
func (s *store) current(ctx context.Context, listed *object, a *all) (*all, error) {
	stored, _, err := s.get(ctx, listed.name)
	if err != nil || stored.is(listed) {
		return a, err // it was refused for another reason
	}
	if a, err = s.listOnce(ctx); err != nil {
		return nil, err
	}
	if now := s.find(a, listed.name); !now.is(listed) {
		return a, nil
	}
	what := "it is not there"
	if stored != nil {
		what = "it has version " + stored.version
	}
	return nil, fmt.Errorf("the API server lists Lease %s with version %s, and in its store %s: etcd was put back to an older state, and the cache of the API server is of before; start all API servers again",
		listed.name, listed.version, what)
}
