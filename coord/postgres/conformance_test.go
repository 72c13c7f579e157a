package postgres_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/postgres"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

var space = coord.Space{
	Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z", LastTick: 1<<41 - 1, Capacity: 1024,
	Scale: clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000},
}

func pool(tb testing.TB, s *pgtest.Server) *pgxpool.Pool {
	tb.Helper()
	p, err := pgxpool.New(context.Background(), s.URL())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

func newCoordinator(tb testing.TB, p *pgxpool.Pool, ns string) *postgres.Coordinator {
	tb.Helper()
	c, err := postgres.New(p, ns, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestConformance(t *testing.T) {
	server := pgtest.Start(t)
	p := pool(t, server)
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		ns, other := rand.Text(), rand.Text()
		participant := func(ns string) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				return newCoordinator(tb, p, ns)
			}
		}
		return coordtest.Harness{
			Client:         participant(ns),
			OtherNamespace: participant(other),
			Expire: func(tb testing.TB, g coord.Grant) {
				tb.Helper()
				if _, err := p.Exec(context.Background(), "UPDATE unalike_slots SET lease_ends = 0 WHERE namespace = $1 AND worker = $2", ns, g.WorkerID); err != nil {
					tb.Fatal(err)
				}
			},
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				ctx := context.Background()
				c := newCoordinator(tb, p, ns)
				if slots, err := c.List(ctx); err != nil {
					tb.Fatal(err)
				} else if len(slots) == 0 {
					if err := c.Init(ctx, space); err != nil {
						tb.Fatal(err)
					}
				}
				if _, err := c.Quarantine(ctx, time.UnixMicro(space.Scale.Micro(tick))); err != nil {
					tb.Fatal(err)
				}
			},
			Sticky: true,
		}
	})
}
