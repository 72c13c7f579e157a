package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/segment"
)

// storeOptions are the flags that say which store an operator means.
type storeOptions struct{ store, config string }

// addStoreFlags gives c the flags of o.
func addStoreFlags(c *cobra.Command, o *storeOptions) {
	addStoreFlag(c, &o.store, "$"+envStore+", else an etcd of this user on this machine")
	addConfigFlag(c, &o.config)
}

// addStoreFlag gives c the flag --store; otherwise says what counts without it.
func addStoreFlag(c *cobra.Command, url *string, otherwise string) {
	c.Flags().StringVar(url, ofStore, "", "`URL` of the store of segments (default: "+otherwise+")")
	var urls []string
	for _, scheme := range drivers.Stores.Schemes() {
		urls = append(urls, (&driver.URL{Scheme: scheme}).Text())
	}
	complete(c, ofStore, urls)
}

// findStore returns the store that the flag names, else the settings, else the etcd of this user on
// this machine. A file that names none is an error: numbers of another store begin anew.
func (a *app) findStore(o storeOptions, cfg config.Config) (place, error) {
	if o.store == "" && cfg.Store == "" && o.config != "" {
		return place{}, fmt.Errorf("--config: %s: it names no store; add the key store with a URL, or "+
			"name one with --store or %s", o.config, envStore)
	}
	return a.find(ofStore, o.store, cfg.Store, o.config, "segments")
}

// operateStore opens the store that o names for f, and closes it.
func (a *app) operateStore(c *cobra.Command, o storeOptions,
	f func(context.Context, *tagStore) error,
) error {
	cfg, err := a.readSettings(c, o.config, wanted{store: o.store == ""})
	if err != nil {
		return err
	}
	return a.withStore(c, o, cfg, f)
}

// withStore opens a store for f, until a signal ends it, and closes the store.
func (a *app) withStore(c *cobra.Command, o storeOptions, cfg config.Config,
	f func(context.Context, *tagStore) error,
) error {
	p, err := a.findStore(o, cfg)
	if err != nil {
		return err
	}
	return untilStopped(c.Context(), func(ctx context.Context) error {
		s, k, err := opened(ctx, a, p, p.checkStore, p.openStore)
		if err != nil {
			return err
		}
		defer func() { warnOf(a.logger(), s.Close(), "closing the store failed") }()
		return f(ctx, &tagStore{s, p, k})
	})
}

// tagStore is a store for an operator, whose calls have an end.
type tagStore struct {
	segment.Store
	place  place
	caller *caller
}

// Tags implements [segment.Store].
func (s *tagStore) Tags(ctx context.Context) ([]segment.Tag, error) {
	return answer(ctx, s.caller, false, s.Store.Tags)
}

// Advance implements [segment.Store].
func (s *tagStore) Advance(ctx context.Context, tag string, to int64) error {
	return s.caller.ask(ctx, true, func(ctx context.Context) error {
		return s.Store.Advance(ctx, tag, to)
	})
}

// create makes a tag.
func (s *tagStore) create(ctx context.Context, t segment.Tag) error {
	maker, ok := s.Store.(segment.Creator)
	if !ok {
		return fmt.Errorf("the store %s cannot make tags", s.place)
	}
	return s.caller.ask(ctx, true, func(ctx context.Context) error { return maker.Create(ctx, t) })
}
