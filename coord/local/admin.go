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
func (c *Coordinator) survives() bool { return c.place != "" && c.sys.home().Boot != "" }

// Describe implements [coord.Describer]. The rules are those of the back end, but a generator has
// its window extended in the file as often as the file's short windows need it. The interval of the
// renewals in the back end is set in its URL or options.
func (c *Coordinator) Describe() coord.Description {
	if c == nil || c.remote == nil {
		return coord.Description{}
	}
	d := coord.Describe(c.remote)
	d.Place = c.place
	d.Rules.MaxRenewEvery, d.Rules.Surviving = c.window*5/12, c.survives()
	switch {
	case c.sys.home().Boot == "":
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used on this system: it does not tell whether the machine was started again since")
	case c.place == "":
		d.Warnings = append(slices.Clip(d.Warnings), "the state file is not used without the back end: its coordinator does not say where its namespace lives")
	}
	return d
}

// Inspect implements [coord.Admin].
func (c *Coordinator) Inspect(ctx context.Context) (coord.Namespace, error) {
	if err := c.begin(ctx, "inspect the namespace"); err != nil {
		return coord.Namespace{}, err
	}
	return c.remote.Inspect(ctx)
}

// List implements [coord.Admin].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	return administer(ctx, c, coord.Admin.List)
}

// Init implements [coord.Admin]. Files with windows of the namespace that was there before are
// refused until they are deleted.
func (c *Coordinator) Init(ctx context.Context, s coord.Space) error {
	_, err := administer(ctx, c, func(a coord.Admin, ctx context.Context) (any, error) { return nil, a.Init(ctx, s) })
	return err
}

// Quarantine implements [coord.Admin].
func (c *Coordinator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return administer(ctx, c, func(a coord.Admin, ctx context.Context) (time.Time, error) { return a.Quarantine(ctx, until) })
}

// Retire implements [coord.Admin].
func (c *Coordinator) Retire(ctx context.Context, workerID int) error {
	_, err := administer(ctx, c, func(a coord.Admin, ctx context.Context) (any, error) { return nil, a.Retire(ctx, workerID) })
	return err
}

// Lower implements [coord.Admin].
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	return administer(ctx, c, coord.Admin.Lower)
}

// administer has the back end do something, if it is one that can.
func administer[T any](ctx context.Context, c *Coordinator, do func(coord.Admin, context.Context) (T, error)) (none T, _ error) {
	if err := c.begin(ctx, "administer the namespace"); err != nil {
		return none, err
	}
	a, ok := c.remote.(coord.Admin)
	if !ok {
		return none, fmt.Errorf("%w: a %T cannot change its namespace", coord.ErrInvalid, c.remote)
	}
	return do(a, ctx)
}
