package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
)

// namespaceOptions are the flags that say which namespace an operator means.
type namespaceOptions struct {
	coordinator string
	config      string
	layout      layoutValue
}

// addNamespaceFlags gives c the flags of o.
func addNamespaceFlags(c *cobra.Command, o *namespaceOptions) {
	c.Flags().StringVar(&o.coordinator, "coordinator", "", "`URL` of the coordinator (default: $"+
		envCoordinator+", else what 'unalike generate' uses on this machine)")
	addConfigFlag(c, &o.config)
	addGeneratorFlag(c)
	addLayoutFlag(c, &o.layout)
	completeCoordinators(c, ofCoordinator)
}

// presence says whether a namespace has to be there before a command.
type presence bool

const (
	mayBeNew  presence = false
	mustExist presence = true
)

// operate runs f with the namespace that o names, until a signal ends it. The layout of
// o is then the one that the settings give.
func (a *app) operate(c *cobra.Command, o *namespaceOptions, must presence,
	f func(context.Context, *namespace) error,
) error {
	cfg, err := a.settings(c, o)
	if err != nil {
		return err
	}
	o.layout.v = cfg.Layout
	p, err := a.findCoordinator(o, cfg)
	if err != nil {
		return err
	}
	return untilStopped(c.Context(), func(ctx context.Context) error {
		return a.with(ctx, p, must, func(n *namespace) error { return f(ctx, n) })
	})
}

// namespace is an open coordinator for an operator, and what to call it.
type namespace struct {
	askedAdmin
	name  string // the URL without its password
	whole bool   // its list has all its worker IDs
}

// with opens the coordinator at p for f, and closes it. Its calls have an end, and while one takes
// long the operator is told.
func (a *app) with(ctx context.Context, p place, must presence, f func(*namespace) error) error {
	p = p.withoutState()
	if must == mustExist {
		if err := p.checkThere(); err != nil {
			return err
		}
	}
	c, k, err := opened(ctx, a, p, p.check, p.open)
	if err != nil {
		return err
	}
	defer func() { warnOf(a.logger(), c.Close(), "closing the coordinator failed") }()
	admin, ok := c.(coord.AdminCoordinator)
	if !ok {
		return fmt.Errorf("%v cannot be listed or changed", p)
	}
	n := &namespace{askedAdmin{admin, k}, p.String(), coord.Describe(c).Rules.Workers == 0}
	if p.folder != "" {
		n.name = theDefault
	}
	return f(n)
}

// inspect returns what is stored for the namespace as a whole.
func (n *namespace) inspect(ctx context.Context) (coord.Namespace, error) {
	info, err := n.Inspect(ctx)
	if err != nil {
		err = fmt.Errorf("whether worker IDs are granted now cannot be read: %w", err)
	}
	return info, err
}

// checkExists reports whether the namespace is there. An operator who mistyped its name
// is to learn that before anything is announced.
func checkExists(ctx context.Context, n *namespace) error {
	info, err := n.inspect(ctx)
	if err == nil && info.Layout == "" {
		err = fmt.Errorf("%w: there is no such namespace; 'unalike init' declares it", coord.ErrInvalid)
	}
	return err
}
