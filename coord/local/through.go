package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// innerRules are the rules of the back end; none if it has none.
func (c *Coordinator) innerRules() coord.LeaseRules {
	if r, ok := c.inner.(coord.LeaseRuler); ok {
		return r.LeaseRules()
	}
	return coord.LeaseRules{}
}

// survives reports whether a grant in the file is gone on with after a crash, so that it may have
// a longer window than the driver has by itself.
func (c *Coordinator) survives() bool { return c.place != "" && c.sys.boot() != "" }

// LeaseRules implements [coord.LeaseRuler]. They are those of the back end, but a generator has
// its window extended in the file as often as the file's short windows need it. The interval of the
// renewals in the back end is set in its URL or options.
func (c *Coordinator) LeaseRules() coord.LeaseRules {
	if c == nil || c.inner == nil {
		return coord.LeaseRules{}
	}
	rules := c.innerRules()
	rules.MaxRenewEvery, rules.Surviving = c.window*5/12, c.survives()
	return rules
}

// Warnings implements [coord.Warner].
func (c *Coordinator) Warnings() []string {
	if c == nil || c.inner == nil {
		return nil
	}
	var all []string
	if w, ok := c.inner.(coord.Warner); ok {
		all = w.Warnings()
	}
	switch {
	case c.sys.boot() == "":
		all = append(slices.Clip(all), "the state file is not used on this system: it does not tell whether the machine was started again since")
	case c.place == "":
		all = append(slices.Clip(all), "the state file is not used without the back end: its coordinator does not say where its namespace lives")
	}
	return all
}

// Place implements [coord.Placer].
func (c *Coordinator) Place() string {
	if c == nil {
		return ""
	}
	return c.place
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

// List implements [coord.Lister].
func (c *Coordinator) List(ctx context.Context) ([]coord.Slot, error) {
	if err := c.begin(ctx, "list"); err != nil {
		return nil, err
	}
	l, ok := c.inner.(coord.Lister)
	if !ok {
		return nil, c.cannot("list its slots")
	}
	return l.List(ctx)
}

// Inspect implements [coord.Inspector].
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

// Lower implements [coord.Lowerer].
func (c *Coordinator) Lower(ctx context.Context) (time.Time, error) {
	if err := c.begin(ctx, "lower a floor"); err != nil {
		return time.Time{}, err
	}
	l, ok := c.inner.(coord.Lowerer)
	if !ok {
		return time.Time{}, c.cannot("lower a floor")
	}
	return l.Lower(ctx)
}

func (c *Coordinator) admin(ctx context.Context) (coord.Admin, error) {
	if err := c.begin(ctx, "administer the namespace"); err != nil {
		return nil, err
	}
	a, ok := c.inner.(coord.Admin)
	if !ok {
		return nil, c.cannot("change its namespace")
	}
	return a, nil
}

func (c *Coordinator) cannot(what string) error {
	return fmt.Errorf("%w: a %T cannot %s", coord.ErrInvalid, c.inner, what)
}
