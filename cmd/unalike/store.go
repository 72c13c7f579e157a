package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/segment"
)

// envStore names the store of segments where the flag does not.
const envStore = "UNALIKE_STORE"

// storePlace is where a store of segments is. Its folder is that of the default store.
type storePlace struct{ place }

// String returns the URL without its password.
func (p storePlace) String() string {
	u, err := driver.ParseURL(p.rawURL)
	if err != nil {
		return "a store whose URL is wrong"
	}
	return u.String()
}

// storeOptions are the flags that say which store an operator means.
type storeOptions struct{ store, config string }

// addStoreFlags gives c the flags of o.
func addStoreFlags(c *cobra.Command, o *storeOptions) {
	addStoreFlag(c, &o.store, "$"+envStore+", else an etcd of this user on this machine")
	addConfigFlag(c, &o.config)
}

// addStoreFlag gives c the flag --store; otherwise says what counts without it.
func addStoreFlag(c *cobra.Command, url *string, otherwise string) {
	c.Flags().StringVar(url, "store", "", "`URL` of the store of segments (default: "+otherwise+")")
	var urls []string
	for _, scheme := range segment.Schemes() {
		urls = append(urls, (&driver.URL{Scheme: scheme}).Text())
	}
	complete(c, "store", urls)
}

// findStore returns the store that the flag names, else the environment, else the file, else the
// etcd of this user on this machine. A file that names none is an error: numbers of another store
// begin anew.
func (a *app) findStore(c *cobra.Command, o storeOptions) (storePlace, error) {
	typed := c.Flags().Changed("store")
	if typed && o.store == "" { // most likely a shell variable that is not set
		return storePlace{}, usageError{errors.New("--store is empty; name a URL, or leave the flag out")}
	}
	if err := config.CheckEnv(a.lookupEnv); err != nil {
		return storePlace{}, err
	}
	v, _ := a.lookupEnv(envStore)
	if c.Flags().Changed("config") {
		cfg, err := a.fileSettings(c, o.config, wanted{store: !typed})
		switch {
		case err != nil:
			return storePlace{}, err
		case !typed && cfg.Store == "":
			return storePlace{}, fmt.Errorf("--config: %s: it names no store; add the key store with a "+
				"URL, or name one with --store or %s", o.config, envStore)
		case !typed && v == "":
			return storePlace{place{from: o.config + ": store", rawURL: cfg.Store}}, nil
		}
		v = cfg.Store
	}
	switch {
	case typed:
		return storePlace{place{from: "--store", rawURL: o.store, typed: true}}, nil
	case v != "":
		return storePlace{place{from: envStore, rawURL: v}}, nil
	}
	folder, err := dataFolder(runtime.GOOS, a.lookupEnv)
	if err != nil {
		return storePlace{}, fmt.Errorf("the default store: %w", err)
	}
	folder = filepath.Join(folder, "unalike")
	return storePlace{place{
		from:   "the default store",
		rawURL: embedURL(filepath.Join(folder, "segments")), folder: folder,
	}}, nil
}

// open opens the store at p. A mistake in a URL on the command line is a usage error.
func (p storePlace) open(ctx context.Context, log *slog.Logger) (segment.Store, error) {
	if p.folder != "" {
		if err := os.MkdirAll(p.folder, 0o700); err != nil {
			return nil, fmt.Errorf("%s: the folder of its data cannot be made: %w; name another store with "+
				"--store or %s", p.from, err, envStore)
		}
	}
	s, err := segment.Open(ctx, p.rawURL, segment.OpenOptions{Logger: log})
	if err == nil {
		return s, nil
	}
	// The URL itself is not printed: it may contain a password.
	err = suggestScheme(p.rawURL, segment.Schemes(), fmt.Errorf("%s: %w", p.from, err))
	if p.typed && (errors.Is(err, coord.ErrInvalid) || errors.Is(err, segment.ErrInvalidConfig)) {
		err = usageError{err}
	}
	return nil, err
}

// withStore opens a store for f, and closes it. Its calls have an end, and while one takes
// long the operator is told.
func (a *app) withStore(c *cobra.Command, o storeOptions,
	f func(context.Context, *tagStore) error,
) error {
	p, err := a.findStore(c, o)
	if err != nil {
		return err
	}
	return untilStopped(c.Context(), func(ctx context.Context) error {
		if err := a.awaitPresence(ctx, p.place, func(ctx context.Context, log *slog.Logger) (io.Closer,
			error,
		) {
			return p.open(ctx, log)
		}); err != nil {
			return err
		}
		tell := func() {
			a.complain("unalike: still waiting for the store %s, at most %v ...\n", p, a.answer)
		}
		k := &caller{waits: a.waits, tell: tell}
		s, err := answer(ctx, k, false, func(ctx context.Context) (segment.Store, error) {
			return p.open(ctx, a.logger())
		})
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
	place  storePlace
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
