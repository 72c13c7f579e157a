package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestCloseDead: a coordinator is closed although a connection has died and nobody was told.
func TestCloseDead(t *testing.T) {
	p := proxytest.Start(t, "127.0.0.1:"+pgtest.Start(t).Port)
	c, err := coord.Open(t.Context(), "postgres://postgres@"+p.Addr+
		"/postgres?namespace=ns&accept=fsync", coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	p.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, err := c.Renew(ctx, g, g.NotAfter+1); err == nil {
		t.Fatalf("Renew over a connection that has died: %v", r)
	}
	began := time.Now()
	_ = c.Close()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("Close took %v", took)
	}
}
