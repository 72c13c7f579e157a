package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
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
	completeCoordinator(c)
}

// checkCoordinatorFlag refuses an empty --coordinator: falling back to the default would
// be about another namespace.
func checkCoordinatorFlag(c *cobra.Command) error { return checkGiven(c, "coordinator", "a URL") }

// checkGiven refuses a flag that is given and empty, which most likely is a shell variable
// that is not set, and says what it names.
func checkGiven(c *cobra.Command, flag, names string) error {
	if f := c.Flags().Lookup(flag); f != nil && f.Changed && f.Value.String() == "" {
		return usageError{fmt.Errorf("--%s is empty; name %s, or leave the flag out", flag, names)}
	}
	return nil
}

// namespace is an open coordinator and what to call it.
type namespace struct {
	coord.Coordinator
	name   string  // the URL without its password
	scheme string  // empty: the default coordinator
	whole  bool    // its list has all its worker IDs
	caller *caller // makes the calls
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
	if err := checkCoordinatorFlag(c); err != nil {
		return err
	}
	cfg, err := a.settings(c, o)
	if err != nil {
		return err
	}
	o.layout.Layout = cfg.Layout
	p, err := a.find(o, cfg)
	if err != nil {
		return err
	}
	return untilStopped(c.Context(), func(ctx context.Context) error {
		n, err := a.openNamespace(ctx, p, must)
		if err != nil {
			return err
		}
		return a.with(n, func() error { return f(ctx, n) })
	})
}

// with runs f and closes n.
func (a *app) with(n *namespace, f func() error) (err error) {
	defer func() { err = firstOf(a.logger(), err, n.Close(), "closing the coordinator") }()
	return f()
}

// openNamespace opens the coordinator at p. Its calls have an end, and while one takes
// long the operator is told.
func (a *app) openNamespace(ctx context.Context, p place, must presence) (*namespace, error) {
	p = p.withoutState()
	if must == mustExist {
		if err := p.checkThere(); err != nil {
			return nil, err
		}
	}
	if err := a.awaitPresence(ctx, p, p.opener()); err != nil {
		return nil, err
	}
	tell := func() { a.complain("unalike: still waiting for %s, at most %v ...\n", p, a.answer) }
	opening := &caller{waits: a.waits, tell: tell}
	c, err := answer(ctx, opening, false, func(ctx context.Context) (coord.Coordinator, error) {
		return p.open(ctx, a.logger())
	})
	if err != nil {
		return nil, err
	}
	n := newNamespace(c, p)
	n.caller = &caller{waits: a.waits, tell: tell}
	n.Coordinator = asked(c, n.caller)
	return n, nil
}

// newNamespace names the coordinator that was opened at p.
func newNamespace(c coord.Coordinator, p place) *namespace {
	n := &namespace{Coordinator: c, name: theDefault, whole: coord.Describe(c).Rules.Workers == 0}
	if u, err := driver.ParseURL(p.rawURL); err == nil && p.folder == "" {
		n.name, n.scheme = u.String(), u.Scheme
	}
	return n
}

// firstOf returns err, the reason why a run ended, or if that is nil, what went wrong
// while tidying up after it. Where both did, the second is logged.
func firstOf(log *slog.Logger, err, tidying error, doing string) error {
	switch {
	case tidying == nil:
		return err
	case err == nil:
		return fmt.Errorf("%s: %w", doing, tidying)
	}
	log.Warn(doing+" failed", "error", tidying)
	return err
}

// inspect returns what is stored for the namespace as a whole; the zero value if its
// coordinator cannot tell.
func (n *namespace) inspect(ctx context.Context) (coord.Namespace, error) {
	i, ok := n.Coordinator.(coord.Admin)
	if !ok {
		return coord.Namespace{}, nil
	}
	info, err := i.Inspect(ctx)
	if err != nil {
		err = fmt.Errorf("whether worker IDs are granted now cannot be read: %w", err)
	}
	return info, err
}

// admin returns the namespace as one that can be listed and changed.
func (n *namespace) admin() (coord.Admin, error) {
	if a, ok := n.Coordinator.(coord.Admin); ok {
		return a, nil
	}
	kind := n.name
	if n.scheme != "" {
		kind = "a coordinator of the scheme " + n.scheme
	}
	able := slices.DeleteFunc(coord.Schemes(), func(s string) bool { return s == n.scheme })
	return nil,
		usageError{fmt.Errorf("%s cannot list or change a namespace; those of these schemes can: %s",
			kind, strings.Join(able, ", "))}
}

// checkExists reports whether the namespace is there. An operator who mistyped its name
// is to learn that before anything is announced.
func checkExists(ctx context.Context, n *namespace) error {
	info, err := n.inspect(ctx)
	if _, can := n.Coordinator.(coord.Admin); err == nil && can && info.Layout == "" {
		err = fmt.Errorf("%w: there is no such namespace; 'unalike init' declares it", coord.ErrInvalid)
	}
	return err
}
