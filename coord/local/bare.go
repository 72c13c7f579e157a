package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// bare leases a worker ID while the disk does not answer. It is none of those that the file
// names, which the next start goes on with. Its window is no longer than the driver has by itself:
// when this process crashes, nobody goes on with it. The caller holds mu, which is given up meanwhile.
func (c *Coordinator) bare(ctx context.Context, req coord.Request) (coord.Grant, error) {
	excess, disk, token := c.excess(req), c.disk, req.Token
	req.Until, req.Surviving = req.Until-excess, false
	req.Token = c.alias(token)
	err := fmt.Errorf("the state file names all of %v", req.Workers)
	for _, share := range c.unnamed(req.Workers) {
		req.Workers = share
		g, refused := c.acquire(ctx, req)
		if refused == nil && c.named(g.WorkerID) {
			// It was granted before the file was given up, see enter, and serves when the disk answers.
			refused = fmt.Errorf("%v was granted, which the state file names; asked for was one of %v", g, share)
		}
		if refused == nil {
			g.Token = token
			return c.outside(c.above(g, req.Fingerprint), excess), nil
		}
		if err = refused; !errors.Is(err, coord.ErrNoWorkerID) {
			break
		}
	}
	return coord.Grant{}, fmt.Errorf("%w (%w)", err, disk)
}

// alias is the token with which a worker ID is leased that the file does not name, for one that may be in the file already: with
// that, the back end would grant again what is in the file. The caller holds mu.
func (c *Coordinator) alias(token string) string {
	if c.aliases[token] == "" && slices.ContainsFunc(c.entries, func(e *entry) bool { return e.names(token) }) {
		c.aliases[token] = rand.Text()
	}
	return cmp.Or(c.aliases[token], token)
}

// aliased is a grant that the file does not name, as the back end has it. The caller holds mu.
func (c *Coordinator) aliased(g coord.Grant) coord.Grant {
	g.Token = cmp.Or(c.aliases[g.Token], g.Token)
	return g
}

// outside returns a grant that the file does not have, and whose windows are shorter than asked for from now on. The
// caller holds mu.
func (c *Coordinator) outside(g coord.Grant, excess int64) coord.Grant {
	if excess > 0 {
		c.bares[nameOf(g)] = excess
	}
	return g
}

// recovers reports whether the disk, after which no worker ID could be leased, answers again. What was given up
// because of it is gone on with then, as after a restart: above its mark, and under another token. The caller holds
// mu, which is given up meanwhile.
func (c *Coordinator) recovers(ctx context.Context) bool {
	s := &c.saver
	before, answers := s.stored, func() bool { return s.stored > max(c.since, s.failed) }
	switch {
	case c.disk == nil:
		return false
	case answers() && (!s.busy || lifetime.Since(s.began) < Patience): // to another attempt, which had no time
	case c.storeUnless(ctx, Patience, never) == nil:
	case s.stored > before && answers(): // to another attempt, while this one waited
	default:
		return false
	}
	c.disk = nil
	for _, e := range c.entries {
		if e.abandoned {
			e.abandoned, e.taken = false, false
		}
	}
	c.log.Warn("the state file can be written again, and is used again", "state_file", c.path)
	return true
}

// named reports whether a worker ID is in the file. The caller holds mu.
func (c *Coordinator) named(worker int) bool {
	return slices.ContainsFunc(c.entries, func(e *entry) bool { return e.Worker == worker })
}

// unnamed returns the worker IDs of a share that the file does not name, in order. The caller
// holds mu.
func (c *Coordinator) unnamed(share coord.Range) (free []coord.Range) {
	named := make([]int, 0, len(c.entries)+1)
	for _, e := range c.entries {
		if e.Worker >= share.First && e.Worker-share.First < share.Count {
			named = append(named, e.Worker)
		}
	}
	named = append(named, share.First+share.Count)
	slices.Sort(named)
	first := share.First
	for _, id := range named {
		if id > first {
			free = append(free, coord.Range{First: first, Count: id - first})
		}
		first = id + 1
	}
	return free
}

// excess is by how many ticks the window of a request reaches further than the driver allows for
// holders that do not survive.
func (c *Coordinator) excess(req coord.Request) int64 {
	return max(req.Until-req.Now-req.Scale.TicksDown(coord.Describe(c.inner).Rules.HorizonLimit().Microseconds()), 0)
}
