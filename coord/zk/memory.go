package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/record"
)

// memory is what a coordinator has seen of its ensemble. The numbers of transactions
// only rise; where that is not so, writes were lost, and windows with them.
//
// Each loss that was dealt with begins an era: what was seen before it tells nothing of
// what comes after.
type memory struct {
	mu      sync.Mutex
	era     int64
	highest int64  // the number of a transaction
	lost    string // what shows that writes were lost; empty: nothing does
	meta    *stored[record.Meta]
	raising chan struct{} // held while the floor is raised, so that it is raised once
}

func newMemory() *memory { return &memory{raising: make(chan struct{}, 1)} }

// sight is what had been seen at one moment. What is asked for after that moment can
// only be newer.
type sight struct {
	era     int64
	highest int64
	meta    *stored[record.Meta]
}

// sight returns what has been seen so far.
func (m *memory) sight() sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sight{m.era, m.highest, m.meta}
}

// sound tells whether what was seen since a sight can be relied on: nothing was lost
// since.
func (m *memory) sound(era int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era == era && m.lost == ""
}

// note takes note of a number that was seen in an era.
func (m *memory) note(era int64, zxid int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.highest = max(m.highest, zxid)
	}
}

// learn takes note of the number of a write that was begun after a sight.
func (m *memory) learn(at sight, zxid int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case zxid <= at.highest:
		m.lost = fmt.Sprintf("the number of the last transaction was %#x and that of a later one is %#x", at.highest, zxid)
	default:
		m.highest = max(m.highest, zxid)
	}
}

// suspect takes note of another proof of a loss, which was found in an era.
func (m *memory) suspect(era int64, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.lost = why
	}
}

// loss returns what shows that writes were lost; empty: nothing does.
func (m *memory) loss() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// know remembers the namespace as it was read after a sight, and notices if it is
// another one than before. Replies are not handled in the order in which they were
// read, so one may be older than what is remembered by now.
func (m *memory) know(at sight, meta stored[record.Meta]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
		return
	case at.meta != nil && at.meta.czxid != meta.czxid:
		m.lost = fmt.Sprintf("the namespace was made in transaction %#x, and now it is one that was made in %#x", at.meta.czxid, meta.czxid)
		return
	case at.meta != nil && at.meta.version > meta.version:
		m.lost = fmt.Sprintf("the version of the namespace was %d and is %d", at.meta.version, meta.version)
		return
	}
	if m.meta == nil || m.meta.czxid == meta.czxid && m.meta.version <= meta.version {
		m.meta = &meta
	}
}

// forgive starts again with the state that the ensemble has now; meta is nil if all of it
// is not known.
func (m *memory) forgive(zxid int64, meta *stored[record.Meta]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.highest, m.lost, m.meta = zxid, "", meta
	m.era++
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
	select {
	case c.memory.raising <- struct{}{}:
		defer func() { <-c.memory.raising }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for n := range raises {
		why := c.memory.loss()
		if why == "" {
			return nil // somebody else has done it
		}
		if err := lifetime.Pause(ctx, n); err != nil {
			return err
		}
		if done, err := c.raise(ctx, s, why); done || err != nil {
			return err
		}
	}
	return errBusy
}

// raises is how often a call tries to raise the floor: after a loss, all processes that
// notice it try at the same time.
const raises = 20

// raise makes one attempt at raising the floor.
func (c *Coordinator) raise(ctx context.Context, s *session, why string) (done bool, err error) {
	known := c.memory.sight().meta
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
	raised, err := c.writeMeta(ctx, s, meta, next)
	switch {
	case errors.Is(err, errAgain):
		return false, nil
	case err != nil:
		return false, err
	}
	c.memory.forgive(s.answered.Load(), &raised)
	c.log.Error("the ZooKeeper ensemble has lost writes; nothing is granted until the windows that may be lost with them are over",
		"namespace", c.namespace, "reason", why, "until", record.Stamp(next.Scale().Micro(next.Floor+1)))
	return true, nil
}

// writeMeta puts next in the place of what was read, and returns what is stored then.
// errAgain: something was changed meanwhile.
func (c *Coordinator) writeMeta(ctx context.Context, s *session, old stored[record.Meta], next record.Meta) (stored[record.Meta], error) {
	value, err := record.Encode(next)
	if err != nil {
		return old, err
	}
	ops := c.replaces(c.nodes.meta(), old.raw, []byte(value), old.version)
	failed, err := c.write(ctx, s, ops)
	if !definite(err, client.ErrNoNode, client.ErrNodeExists, client.ErrBadVersion) {
		return old.then(next, []byte(value)), err
	}
	if now, _ := c.readMeta(ctx, s); now.version == old.version && bytes.Equal(now.raw, old.raw) {
		return old, misfit(ops[failed], err)
	}
	return old, errAgain
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
