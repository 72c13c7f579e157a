package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// survives reports whether a grant in the file is gone on with after a crash, so that it may have
// a longer window than the driver has by itself.
func (c *Coordinator) survives() bool { return c.place != "" && c.sys.boot() != "" }

// Describe implements [coord.Describer]. The rules are those of the back end, but a generator has
// its window extended in the file as often as the file's short windows need it. The interval of the
// renewals in the back end is set in its URL or options.
func (c *Coordinator) Describe() coord.Description {
	if c == nil || c.inner == nil {
		return coord.Description{}
	}
	d := coord.Describe(c.inner)
	d.Place = c.place
	d.Rules.MaxRenewEvery, d.Rules.Surviving = c.window*5/12, c.survives()
	switch {
	case c.sys.boot() == "":
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used on this system: it does not tell whether the machine was started again since")
	case c.place == "":
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used without the back end: its coordinator does not say where its namespace lives")
	}
	return d
}

// Outage implements [coord.Outlasting].
func (c *Coordinator) Outage(g coord.Grant) (o coord.Outage, ok bool) {
	if c == nil || c.inner == nil {
		return o, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.find(g)
	if h == nil || err != nil {
		return o, false
	}
	return coord.Outage{NotAfter: h.piece().To, Renewed: time.UnixMicro(h.entry.Renewed), Failing: h.failing}, true
}

// Resume implements [coord.Resumer], for grants that are not in the file: those that are, are
// taken over by Acquire.
func (c *Coordinator) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	if err := c.begin(ctx, "resume"); err != nil {
		return coord.Grant{}, err
	}
	return c.inner.Resume(ctx, g, token, until)
}

// List implements [coord.Admin].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	a, err := c.admin(ctx)
	if err != nil {
		return nil, err
	}
	return a.List(ctx)
}

// Inspect implements [coord.Admin].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	if err := c.begin(ctx, "inspect"); err != nil {
		return coord.Namespace{}, err
	}
	return c.inner.Inspect(ctx)
}

// Init implements [coord.Admin]. Files with windows of the namespace that was there before are
// refused until they are deleted.
func (c *Coordinator) Init(ctx context.Context, s coord.Space) error {
	a, err := c.admin(ctx)
	if err != nil {
		return err
	}
	return a.Init(ctx, s)
}

// Quarantine implements [coord.Admin].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	a, err := c.admin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return a.Quarantine(ctx, until)
}

// Retire implements [coord.Admin].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	a, err := c.admin(ctx)
	if err != nil {
		return err
	}
	return a.Retire(ctx, workerID)
}

// Lower implements [coord.Admin].
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	a, err := c.admin(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return a.Lower(ctx)
}

func (c *Coordinator) admin(ctx context.Context) (coord.Admin, error) {
	if err := c.begin(ctx, "administer the namespace"); err != nil {
		return nil, err
	}
	a, ok := c.inner.(coord.Admin)
	if !ok {
		return nil, fmt.Errorf("%w: a %T cannot change its namespace", coord.ErrInvalid, c.inner)
	}
	return a, nil
}
