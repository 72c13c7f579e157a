// Package unalike makes unique 64-bit IDs that sort by time, in the process that needs them. Any
// number of processes may make IDs at the same time: each leases a worker ID of its own from a
// coordinator, which a URL names.
//
//	ids, err := unalike.Open(ctx, "file:/var/lib/orders/ids", unalike.Config{})
//	if err != nil {
//		return err
//	}
//	defer ids.Close(context.Background())
//	id, err := ids.Next()
//
// With the coordinator file, all processes of one machine have different IDs. Processes of several
// machines use another one: import its package, and write its URL.
//
//	import _ "github.com/unalike-id/unalike/coord/postgres"
//
//	ids, err := unalike.Open(ctx, "postgres://app@db/orders?namespace=orders", unalike.Config{})
//
// There are coord/etcd, coord/zk, coord/redis, coord/postgres, coord/mysql, coord/kubernetes and
// coord/static. The package config reads the same from a file or from the environment. The package
// core has all that a generator can do, for programs that have a client of the coordinator already.
package unalike

import (
	"context"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	_ "github.com/unalike-id/unalike/coord/file" // file: URLs
	"github.com/unalike-id/unalike/core"
)

// These are the types of package core that most programs need.
type (
	// Generator makes IDs. It is safe for concurrent use.
	Generator = core.Generator
	// ID is a 64-bit ID. Its text is decimal.
	ID = core.ID
	// Layout divides the bits of an ID into time, worker ID and sequence.
	Layout = core.Layout
	// Config says how a generator works. The zero Config is ready to use.
	Config = core.Config
	// Health is the state of a generator, for probes and logs.
	Health = core.Health
)

// Errors that callers test for with errors.Is.
var (
	// ErrInvalid says that a URL, a setting or an argument is wrong.
	ErrInvalid = coord.ErrInvalid
	// ErrInvalidID says that a text, bytes or a column is no ID.
	ErrInvalidID = core.ErrInvalidID
	// ErrClosed is returned after Close.
	ErrClosed = core.ErrClosed
	// ErrNotStarted says that a generator of [Start] has no worker ID yet.
	ErrNotStarted = core.ErrNotStarted
	// ErrNoWorkerID says that every worker ID is in use.
	ErrNoWorkerID = coord.ErrNoWorkerID
)

// ParseID reads the text of an ID, as [ID.String] writes it. The error wraps [ErrInvalidID].
func ParseID(text string) (ID, error) { return core.ParseID(text) }

// ParseLayout reads a layout: a name, such as "twitter" for what bwmarrin/snowflake has, or its
// text, such as "41/10/12/1ms/2024-01-01T00:00:00Z". The error wraps
// [core.ErrInvalidLayout].
func ParseLayout(text string) (Layout, error) { return core.ParseLayout(text) }

// Open opens the coordinator of a URL, leases a worker ID from it, and returns a generator that has
// it. It blocks until IDs can be made, which takes seconds if a process that has crashed held the
// worker ID before; the log says for what it waits. The context bounds the start alone. Close the
// generator, which also closes the coordinator.
//
// Errors wrap [ErrInvalid] if the URL or the settings are wrong; see [core.New] for others. None
// contains a password.
func Open(ctx context.Context, url string, c Config) (*Generator, error) {
	return open(ctx, url, c, func(o coord.Coordinator, c Config) (*Generator, error) {
		return core.New(ctx, o, c)
	})
}

// Start is Open without the wait: it returns a generator that leases its worker ID in the
// background, so that a service can start while its coordinator cannot be reached. Until then Next
// returns [ErrNotStarted] with the reason, and NextContext waits.
func Start(ctx context.Context, url string, c Config) (*Generator, error) {
	return open(ctx, url, c, core.Start)
}

// open opens the coordinator and hands it over to a generator.
func open(ctx context.Context, url string, c Config,
	generator func(coord.Coordinator, Config) (*Generator, error),
) (*Generator, error) {
	if c.Closer != nil {
		return nil, fmt.Errorf("%w: Closer is set; only core.New and core.Start accept it", ErrInvalid)
	}
	rest, file, err := driver.CutStateFile(url)
	switch {
	case err != nil:
		return nil, err
	case c.StateFile != "" && file != "" && c.StateFile != file:
		return nil, fmt.Errorf("%w: StateFile is %q, and the URL has state=%q; name the file in one "+
			"place", ErrInvalid, c.StateFile, file)
	case file != "":
		c.StateFile = file
	}
	o, err := coord.Open(ctx, rest, coord.OpenOptions{Clock: c.Clock, Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	c.Closer = o
	return generator(o, c)
}
