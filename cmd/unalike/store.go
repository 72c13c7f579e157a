package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/segment"
)

// envStore names the store of segments where the flag does not.
const envStore = "UNALIKE_STORE"

// storePlace is where a store of segments is, and who says so.
type storePlace struct {
	from, rawURL string
	typed        bool   // it stands on the command line
	folder       string // of the default store; empty: it is another one
}

// String returns the URL without its password.
func (p storePlace) String() string {
	u, err := coord.ParseURL(p.rawURL)
	if err != nil {
		return "a store whose URL is wrong"
	}
	return u.String()
}

// addStoreFlag gives c the flag --store.
func addStoreFlag(c *cobra.Command, url *string) {
	c.Flags().StringVar(url, "store", "", "`URL` of the store of segments (default: $"+envStore+", else an etcd of this user on this machine)")
	var urls []string
	for _, scheme := range segment.Schemes() {
		urls = append(urls, scheme+"://")
	}
	complete(c, "store", urls)
}

// findStore returns the store that the flag names, else the environment, else the etcd of this user on this machine.
func (a *app) findStore(flag string) (storePlace, error) {
	if flag != "" {
		return storePlace{from: "--store", rawURL: flag, typed: true}, nil
	}
	if v, _ := a.lookupEnv(envStore); v != "" {
		return storePlace{from: envStore, rawURL: v}, nil
	}
	folder, err := dataFolder(runtime.GOOS, a.lookupEnv)
	if err != nil {
		return storePlace{}, fmt.Errorf("the default store: %w", err)
	}
	folder = filepath.Join(folder, "unalike")
	return storePlace{from: "the default store", rawURL: "embed://" + urlPath(filepath.Join(folder, "segments")), folder: folder}, nil
}

// open opens the store at p. A mistake in a URL on the command line is a usage error.
func (p storePlace) open(ctx context.Context, log *slog.Logger) (segment.Store, error) {
	if p.folder != "" {
		if err := os.MkdirAll(p.folder, 0o700); err != nil {
			return nil, fmt.Errorf("%s: the folder of its data cannot be made: %w; name another store with --store or %s", p.from, err, envStore)
		}
	}
	s, err := segment.OpenWith(ctx, p.rawURL, segment.OpenOptions{Logger: log})
	if err == nil {
		return s, nil
	}
	err = fmt.Errorf("%s: %w", p.from, err) // not with the URL, which may contain a password
	if p.typed && errors.Is(err, coord.ErrInvalid) {
		err = usageError{err}
	}
	return nil, err
}

// withStore opens a store for f, and closes it.
func (a *app) withStore(ctx context.Context, flag string, f func(ctx context.Context, p storePlace, s segment.Store) error) error {
	p, err := a.findStore(flag)
	if err != nil {
		return err
	}
	return untilStopped(ctx, func(ctx context.Context) (err error) {
		var s segment.Store
		tell := func() { a.complain("unalike: still waiting for the store %s\n", p) }
		whileWaiting(a.quiet, tell, func() { s, err = p.open(ctx, a.logger()) })
		if err != nil {
			return err
		}
		defer func() { warnOf(a.logger(), s.Close(), "closing the store failed") }()
		return f(ctx, p, s)
	})
}
