package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// listed is how many slots are read at a time.
const listed = 1024

// List implements [coord.Lister]. ZooKeeper has no way to read many nodes at one
// moment: each slot is as it was at some moment of the call.
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	var slots []coord.Slot
	var unreadable []error
	err := c.visit(ctx, "list the worker IDs", func(ctx context.Context, s *session) (err error) {
		slots, unreadable, err = c.list(ctx, s)
		return err
	})
	return slots, errors.Join(append([]error{err}, unreadable...)...)
}

// Inspect implements [coord.Inspector].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	var n coord.Namespace
	err := c.visit(ctx, "look at the namespace", func(ctx context.Context, s *session) error {
		replies, err := c.peek(ctx, s, get(c.nodes.meta()))
		if err != nil {
			return err
		}
		meta, err := read[protocol.Meta](c.nodes.meta(), replies[0])
		switch {
		case err != nil:
			return err
		case !meta.there():
			return c.checkChroot(ctx, s)
		}
		n = meta.rec.Inspected()
		return nil
	})
	return n, err
}

// peek reads nodes without writing anything, as they were a moment ago at the latest.
func (c *Coordinator) peek(ctx context.Context, s *session, reads ...request) ([]reply, error) {
	requests := append([]request{catchUp(c.nodes.root)}, reads...)
	if c.opts.User != "" {
		requests = append([]request{login(c.opts.User, c.opts.Password)}, requests...)
	}
	replies, err := s.together(ctx, requests...)
	if err != nil {
		return nil, err
	}
	return replies[len(replies)-len(reads):], nil
}

// checkChroot returns an error if the chroot is not there, which is why a namespace is
// not.
func (c *Coordinator) checkChroot(ctx context.Context, s *session) error {
	chroot := strings.TrimSuffix(c.nodes.root, rootName)
	if chroot == "" {
		return nil
	}
	replies, err := c.peek(ctx, s, exists(chroot))
	switch {
	case err != nil:
		return err
	case definite(replies[0].err, client.ErrNoNode):
		return c.noChroot()
	}
	return replies[0].err
}

func (c *Coordinator) list(ctx context.Context, s *session) (slots []coord.Slot, unreadable []error, _ error) {
	n := c.nodes
	replies, err := c.peek(ctx, s, get(n.meta()), children(n.owners()), children(n.slots()))
	if err != nil {
		return nil, nil, err
	}
	meta, err := read[protocol.Meta](n.meta(), replies[0])
	switch {
	case err != nil:
		return nil, nil, err
	case !meta.there() && definite(replies[2].err, client.ErrNoNode):
		return nil, nil, c.checkChroot(ctx, s)
	case !meta.there():
		_, err := c.metaOf(replies[0])
		return nil, nil, err
	case replies[1].err != nil:
		return nil, nil, missing(n.owners(), replies[1].err)
	case replies[2].err != nil:
		return nil, nil, missing(n.slots(), replies[2].err)
	}
	owners, unreadable := workersOf(n.owners(), replies[1].children)
	ids, more := workersOf(n.slots(), replies[2].children)
	unreadable = append(unreadable, more...)
	for part := range slices.Chunk(ids, listed) {
		reads := make([]request, len(part))
		for i, id := range part {
			reads[i] = get(n.slot(id))
		}
		replies, err := s.together(ctx, reads...)
		if err != nil {
			return nil, nil, err
		}
		for i, id := range part {
			slot, err := c.slotOf(id, replies[i])
			if err != nil {
				unreadable = append(unreadable, fmt.Errorf("zookeeper: %w", err))
				continue
			}
			_, owned := slices.BinarySearch(owners, id)
			slots = append(slots, slot.rec.Listed(meta.rec, owned))
		}
	}
	return slots, unreadable, nil
}

// workersOf returns the worker IDs that children are about, in ascending order.
func workersOf(path string, names []string) (ids []int, unreadable []error) {
	for _, name := range names {
		id, err := workerOf(path, name)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("zookeeper: %w", err))
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, unreadable
}

// visitRoom is for how many worker IDs there is room in the answers to an operator.
const visitRoom = 1 << 20

// visit makes calls for an operator, in a session that ends with them.
func (c *Coordinator) visit(ctx context.Context, what string, call func(context.Context, *session) error) error {
	return c.do(ctx, what, func(ctx context.Context) error {
		s, err := c.newSession(c.ttl(), visitRoom)
		if err != nil {
			return err
		}
		defer s.over(true, errEnded)
		if _, err := s.await(ctx); err != nil {
			return err
		}
		return call(ctx, s)
	})
}
