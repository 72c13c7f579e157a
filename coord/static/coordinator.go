package static

import (
	"context"
	"errors"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filestore"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
)

// coordinator grants the configured worker IDs. It is safe for concurrent use. Make it with [New],
// or with coord.Open.
type coordinator struct {
	*protocol.Coordinator
	opts   Options
	source source
	store  *filestore.Store
	leases *leases
}

// Describe implements [coord.AdminCoordinator]: a horizon of 3 s, renewed every second.
func (c *coordinator) Describe() coord.Description {
	d := c.Coordinator.Describe()
	d.Rules.Workers = c.opts.Count
	switch {
	case c.opts.State == "":
		d.Warnings = []string{"static worker ID without a state file: restarts after a step of the " +
			"clock, and other processes with the same worker ID, are not protected against"}
	case c.opts.AcceptFresh:
		d.Warnings = []string{"fresh is set: a state file that was lost is taken for one that never " +
			"was; unset it after the first start"}
	}
	return d
}

// Acquire implements [coord.Coordinator]. The error wraps [coord.ErrNoWorkerID] if each of the
// worker IDs is held, and names the processes that hold them.
func (c *coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	if err := req.Validate(); err != nil {
		return coord.Grant{}, err
	}
	var err error
	if req.Workers, err = c.workers(req); err != nil {
		return coord.Grant{}, err
	}
	if err := c.checkAhead(req); err != nil {
		return coord.Grant{}, err
	}
	c.leases.use(req.Workers)
	g, err := c.Coordinator.Acquire(ctx, req)
	if errors.Is(err, coord.ErrNoWorkerID) {
		return g, c.leases.explain(err, req.Workers)
	}
	if c.opts.State == "" { // a process before this one can have stamped as far ahead
		ahead := min(req.Now+req.Scale.TicksUp(MaxAhead.Microseconds()), req.LastTick)
		g.NotBefore = min(max(g.NotBefore, ahead), g.NotAfter)
	}
	return g, err
}

// workers returns the worker IDs, checked against the layout and the share of a request.
func (c *coordinator) workers(req coord.Request) (coord.Range, error) {
	first, err := c.source.resolve(req.Capacity)
	if err != nil {
		return coord.Range{}, err
	}
	last := first + int64(c.opts.Count) - 1
	if last >= int64(req.Capacity) {
		return coord.Range{}, invalid.Errorf("static worker ID %d; the layout has worker IDs 0 to %d",
			last, req.Capacity-1)
	}
	mine, share := coord.Range{First: int(first), Count: c.opts.Count}, req.Workers
	if first < int64(share.First) || last >= int64(share.First)+int64(share.Count) {
		return mine, invalid.Errorf("static worker IDs %v are not within the share %v that the "+
			"generator is configured for; change one of them", mine, share)
	}
	return mine, nil
}

// checkAhead refuses a holder that may stamp further ahead of the clock than the next process
// waits, which without a state file cannot know how far that was.
func (c *coordinator) checkAhead(req coord.Request) error {
	most := req.Scale.TicksUp(MaxAhead.Microseconds())
	if c.opts.State != "" || req.Ahead <= most {
		return nil
	}
	tick := time.Duration(req.Scale.Unit) * time.Microsecond
	return invalid.Errorf("Lead and RollbackTolerance let the generator be %d ticks of %v ahead of "+
		"the clock; without a state file at most %d are allowed, because a restart that waits for less "+
		"issues the same IDs again; name a state file, or set Lead to 0 and RollbackTolerance "+
		"to at most %v", req.Ahead, tick, most, MaxAhead)
}

// Inspect implements [coord.AdminCoordinator]. Without a state file the namespace has no nonce:
// each process has its own memory of it.
func (c *coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	n, err := c.Coordinator.Inspect(ctx)
	if c.opts.State == "" {
		n.Nonce = ""
	}
	return n, err
}

// Close ends what is under way and gives all worker IDs back that are held still, whose windows
// stay as they are.
func (c *coordinator) Close() error {
	err := c.Coordinator.Close()
	c.store.Close()
	return err
}
