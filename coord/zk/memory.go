package zk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/record"
)

// memory is what a coordinator has seen of its ensemble. The numbers of transactions
// only rise; where that is not so, writes were lost, and windows with them.
type memory struct {
	mu      sync.Mutex
	highest int64  // the number of a transaction
	lost    string // what shows that writes were lost; empty: nothing does
	meta    *stored[record.Meta]
	eras    int64      // how often losses were dealt with
	raising sync.Mutex // held while the floor is raised, so that it is raised once
}

// era counts the losses that were dealt with.
func (m *memory) era() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.eras
}

// mark returns the highest number seen so far. A write that is begun from now on and
// gets a lower one is proof of a loss.
func (m *memory) mark() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.highest
}

// note takes note of a number that a session has seen.
func (m *memory) note(era int64, zxid int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.eras {
		m.highest = max(m.highest, zxid)
	}
}

// learn takes note of the highest number that a session has seen after a write that
// was begun after mark returned before.
func (m *memory) learn(era, before, zxid int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case era != m.eras:
	case zxid <= before:
		m.lost = fmt.Sprintf("the number of the last transaction was %#x and that of a later one is %#x or less", before, zxid)
	default:
		m.highest = max(m.highest, zxid)
	}
}

// suspect takes note of another proof of a loss.
func (m *memory) suspect(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = why
}

// loss returns what shows that writes were lost; empty: nothing does.
func (m *memory) loss() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// know remembers the namespace, and notices if it is another one than before.
func (m *memory) know(meta stored[record.Meta]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.meta == nil || m.meta.czxid == meta.czxid && m.meta.version <= meta.version:
		m.meta = &meta
	case m.meta.czxid != meta.czxid:
		m.lost = fmt.Sprintf("the namespace was made in transaction %#x, and now it is one that was made in %#x", m.meta.czxid, meta.czxid)
	case m.meta.version > meta.version:
		m.lost = fmt.Sprintf("the version of the namespace was %d and is %d", m.meta.version, meta.version)
	}
}

// known returns the namespace as it was seen last.
func (m *memory) known() *stored[record.Meta] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.meta
}

// forgive starts again with the state that the ensemble has now.
func (m *memory) forgive(zxid int64, meta *stored[record.Meta]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.highest, m.lost, m.meta = zxid, "", meta
	m.eras++
}

// ward is the tick until which windows that were forgotten can reach, if the loss is
// noticed now. The latest of the clocks counts.
func (c *Coordinator) ward(meta record.Meta, clocks ...int64) int64 {
	now := c.now()
	for _, t := range clocks {
		now = max(now, t)
	}
	return meta.Ward(now, MaxHorizon, c.opts.SkewBound)
}

// heal raises the floor if writes were lost, see rule 11 of package coord. It has to
// be told of a session that can be used.
func (c *Coordinator) heal(ctx context.Context, s *session) error {
	if c.memory.loss() == "" {
		return nil
	}
	c.memory.raising.Lock()
	defer c.memory.raising.Unlock()
	for {
		why := c.memory.loss()
		if why == "" {
			return nil // somebody else has done it
		}
		if done, err := c.raise(ctx, s, why); done || err != nil {
			return err
		}
	}
}

// raise makes one attempt at raising the floor.
func (c *Coordinator) raise(ctx context.Context, s *session, why string) (done bool, err error) {
	known := c.memory.known()
	meta, err := c.readMeta(ctx, s)
	switch {
	case errors.Is(err, errNoNamespace) && known != nil:
		// It is made with a floor.
		return false, c.makeNamespace(ctx, s, known.rec)
	case err != nil:
		return false, err
	}
	next := meta.rec
	next.Floor = max(next.Floor, c.ward(next, s.leaderTime()))
	if known != nil && known.rec.Fingerprint == next.Fingerprint {
		next.Floor = max(next.Floor, known.rec.Floor)
	}
	if err := c.writeMeta(ctx, s, meta, next); err != nil {
		if errors.Is(err, errAgain) {
			return false, nil
		}
		return false, err
	}
	c.memory.forgive(s.zxid.Load(), nil)
	s.era.Store(c.memory.era())
	c.log.Error("the ZooKeeper ensemble has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.namespace, "reason", why, "until", record.Stamp(next.Scale().Micro(next.Floor+1)))
	return true, nil
}

// writeMeta puts next in the place of what was read. errAgain: something was changed
// meanwhile.
func (c *Coordinator) writeMeta(ctx context.Context, s *session, old stored[record.Meta], next record.Meta, and ...any) error {
	value, err := record.Encode(next)
	if err != nil {
		return err
	}
	_, err = c.write(ctx, s, append(c.replaces(c.nodes.meta(), old.raw, []byte(value), old.version), and...))
	if definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion) {
		return errAgain
	}
	return err
}

// readMeta reads the namespace's record.
func (c *Coordinator) readMeta(ctx context.Context, s *session) (stored[record.Meta], error) {
	replies, err := c.fetch(ctx, s, get(c.nodes.meta()))
	if err != nil {
		return stored[record.Meta]{}, err
	}
	return c.metaOf(replies[0])
}

// metaOf decodes the namespace's record, which is there if the clock is.
func (c *Coordinator) metaOf(r reply) (stored[record.Meta], error) {
	meta, err := read[record.Meta](c.nodes.meta(), r)
	if err == nil && !meta.there() {
		err = damaged(c.nodes.meta(), errors.New("the node is missing and there are others of the namespace"))
	}
	return meta, err
}
