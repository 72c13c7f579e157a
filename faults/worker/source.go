package worker

import (
	"context"
	"errors"
	"log/slog"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
	_ "github.com/unalike-id/unalike/segment/etcd"          // etcd://
	_ "github.com/unalike-id/unalike/segment/etcd/embedded" // embed://
	_ "github.com/unalike-id/unalike/segment/mysql"         // mysql://
	_ "github.com/unalike-id/unalike/segment/postgres"      // postgres://
)

// source is where IDs come from: a generator, or something that behaves as one.
type source interface {
	Next() (core.ID, error)
	Fill(ctx context.Context, dst []core.ID) (int, error)
	Health() core.Health
	Close(ctx context.Context) error
}

// isClosed reports whether an error says that a source is closed.
func isClosed(err error) bool {
	return errors.Is(err, core.ErrClosed) || errors.Is(err, segment.ErrClosed)
}

// remote is a source of IDs of servers.
type remote struct{ *client.Client }

func (remote) Health() core.Health { return core.Health{Healthy: true} }

func (r remote) Close(context.Context) error { return r.Client.Close() }

// openRemote returns a client of servers.
func (g *instance) openRemote(context.Context) (source, error) {
	c, err := client.New(g.Servers, client.Options{Prefetch: g.Prefetch, Timeout: clientTime})
	return remote{c}, err
}

// numbers is a source of plain numbers.
type numbers struct {
	*segment.Sequence
	store segment.Store
}

// openNumbers opens the store and makes a sequence.
func (g *instance) openNumbers(ctx context.Context) (source, error) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	store, err := segment.Open(ctx, g.URL, segment.OpenOptions{Logger: log})
	if err != nil {
		return nil, err
	}
	s, err := segment.New(ctx, store, g.Segment, segment.Config{MaxStep: g.MaxStep, Logger: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return numbers{s, store}, nil
}

func (n numbers) Next() (core.ID, error) {
	v, err := n.Sequence.Next()
	return core.ID(v), err
}

// Fill does not wait longer than a store may take to come back.
func (n numbers) Fill(ctx context.Context, dst []core.ID) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	run := make([]int64, len(dst))
	got, err := n.Sequence.Fill(ctx, run)
	for i, v := range run[:got] {
		dst[i] = core.ID(v)
	}
	return got, err
}

func (n numbers) Health() core.Health {
	h := n.Sequence.Health()
	return core.Health{Healthy: h.Healthy, Issued: h.Issued}
}

func (n numbers) Close(ctx context.Context) error {
	return errors.Join(n.Sequence.Close(ctx), n.store.Close())
}
