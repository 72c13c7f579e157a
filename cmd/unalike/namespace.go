package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/static"
)

// namespaceOptions are the flags that say which namespace an operator means.
type namespaceOptions struct {
	coordinator string
	layout      layoutValue
}

// addNamespaceFlags gives c the flags of o.
func addNamespaceFlags(c *cobra.Command, o *namespaceOptions) {
	c.Flags().StringVar(&o.coordinator, "coordinator", "", "`URL` of the coordinator (default: $"+envCoordinator+", else what 'unalike generate' uses on this machine)")
	addLayoutFlag(c, &o.layout)
	completeCoordinator(c)
}

// checkCoordinatorFlag refuses an empty --coordinator: most likely a shell variable
// that is not set. Falling back to the default would be about another namespace.
func checkCoordinatorFlag(c *cobra.Command) error {
	if f := c.Flags().Lookup("coordinator"); f != nil && f.Changed && f.Value.String() == "" {
		return usageError{errors.New("--coordinator is empty; name a URL, or leave the flag out")}
	}
	return nil
}

// namespace is an open coordinator and what to call it.
type namespace struct {
	coord.Coordinator
	name   string // the URL without its password
	scheme string // empty: the default coordinator
}

// operate runs f with the namespace that o names, until a signal ends it.
func (a *app) operate(c *cobra.Command, o *namespaceOptions, f func(context.Context, *namespace) error) error {
	if err := checkCoordinatorFlag(c); err != nil {
		return err
	}
	return untilStopped(c.Context(), func(ctx context.Context) error {
		n, err := a.openNamespace(ctx, o)
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

// openNamespace opens the coordinator that o names.
func (a *app) openNamespace(ctx context.Context, o *namespaceOptions) (*namespace, error) {
	c, err := a.openCoordinator(ctx, o.coordinator, o.layout.Layout)
	if err != nil {
		return nil, err
	}
	rawURL := o.coordinator
	if rawURL == "" {
		rawURL, _ = a.lookupEnv(envCoordinator)
	}
	return newNamespace(c, rawURL), nil
}

// newNamespace names what was opened from rawURL; empty: the default coordinator.
func newNamespace(c coord.Coordinator, rawURL string) *namespace {
	n := &namespace{Coordinator: c, name: "the default coordinator"}
	if u, err := coord.ParseURL(rawURL); err == nil {
		n.name, n.scheme = u.String(), u.Scheme
	}
	return n
}

// cannotChange are the schemes whose namespaces an operator cannot change.
var cannotChange = []string{"static"}

// lister returns the namespace as one whose worker IDs can be listed.
func (n *namespace) lister() (coord.Lister, error) {
	if l, ok := n.Coordinator.(coord.Lister); ok {
		return l, nil
	}
	return nil, n.lacks("list who holds which worker ID", nil)
}

// whole tells whether the namespace's list has all its worker IDs. A static
// coordinator knows only those that it is configured with.
func (n *namespace) whole() bool {
	_, part := n.Coordinator.(*static.Coordinator)
	return !part
}

// admin returns the namespace as one that can be changed.
func (n *namespace) admin() (coord.Admin, error) {
	if a, ok := n.Coordinator.(coord.Admin); ok {
		return a, nil
	}
	return nil, n.lacks("change a namespace", cannotChange)
}

// lacks is the error of a coordinator that cannot do something, which all but the
// schemes in except can.
func (n *namespace) lacks(what string, except []string) error {
	kind := n.name
	if n.scheme != "" {
		kind = "a coordinator of the scheme " + n.scheme
	}
	able := slices.DeleteFunc(coord.Schemes(), func(s string) bool { return s == n.scheme || slices.Contains(except, s) })
	return usageError{fmt.Errorf("%s cannot %s; those of these schemes can: %s", kind, what, strings.Join(able, ", "))}
}
