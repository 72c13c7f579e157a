package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestStore: what a store of package protocol has to be able to do.
func TestStore(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		tb.Helper()
		ns := rand.Text()
		c, err := New(client, ns, Options{})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = c.Close() })
		return storetest.Harness{
			Store: storeOf(c),
			Expire: func(tb testing.TB, worker int) {
				tb.Helper()
				EndLease(tb, client, ns, worker)
			},
			Count: func(tb testing.TB) int {
				tb.Helper()
				n, err := client.HLen(context.Background(), keyOf(ns)).Result()
				if err != nil {
					tb.Fatal(err)
				}
				return int(n)
			},
		}
	})
}

// EndLease ends the lease of whoever holds a worker ID, if anybody does.
func EndLease(tb testing.TB, client goredis.UniversalClient, namespace string, worker int) {
	tb.Helper()
	key, at := keyOf(namespace), worker%pageSize*digits
	old, err := client.HGet(tb.Context(), key, page(worker)).Result()
	if errors.Is(err, goredis.Nil) {
		return
	}
	if err == nil {
		err = client.HSet(tb.Context(), key, page(worker),
			old[:at]+strings.Repeat("0", digits)+old[at+digits:]).Err()
	}
	if err == nil {
		err = client.Del(tb.Context(), leaseOf(namespace, strconv.Itoa(worker))).Err()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestRefusedByTheServer: what the script refuses by the server's clock and history, whatever the
// caller says.
func TestRefusedByTheServer(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c, err := New(client, "ns", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Init(t.Context(), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	s, err := storeOf(c).Open("", time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		lineage string        // that the change settles; empty: the server's
		past    time.Duration // after its deadline
		ends    time.Duration // of the window, from the server's now on; 0: no window
		refused string
	}{
		"as it should be":    {past: -time.Minute},
		"another lineage":    {lineage: "elsewhere-1", refused: "lineage"},
		"after its deadline": {past: time.Microsecond, refused: "lineage"},
		"a window":           {past: -time.Minute, ends: MaxHorizon},
		"a window that is ahead": {
			past: -time.Minute, ends: MaxHorizon + 500*time.Millisecond, refused: "ahead",
		},
	} {
		sv, err := s.Survey(t.Context(), protocol.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		scale := drivertest.Scale()
		change := protocol.Change{
			Before: &protocol.View{Position: sv.Position, Meta: sv.Meta}, NoteLineage: true,
			Deadline: sv.Server.High - tc.past.Microseconds(),
		}
		change.Before.Lineage = cmp.Or(tc.lineage, sv.Lineage)
		if change.Meta = &sv.Meta.Record; tc.ends > 0 {
			change.Meta, change.Slot = nil, &protocol.Slot{
				Version: 1, Token: "t", Generation: 1,
				NotAfter: scale.Tick(sv.Server.Low + tc.ends.Microseconds()),
				LastTick: drivertest.Space().LastTick, TTL: 1000,
			}
			change.Owner, change.Token = protocol.OwnerTaken, "t"
		}
		w, err := s.(*session).written(&change, change.Worker())
		if err != nil {
			t.Fatal(err)
		}
		a, err := storeOf(c).do(t.Context(), request{Write: w, Get: fieldsOf(-1), id: w.ID})
		if err != nil || a.refused != tc.refused {
			t.Errorf("%s: refused because of %q, %v; want %q", name, a.refused, err, tc.refused)
		}
		client.HDel(t.Context(), keyOf("ns"), "0", "t:t", "l:0")
		client.Del(t.Context(), leaseOf("ns", "0"))
	}
}
