package etcd_test

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// callTime is for one call on a machine that is busy with other things.
const callTime = 30 * time.Second

func TestMain(m *testing.M) {
	etcdtest.Main()
	holderMain()
	os.Exit(m.Run())
}

// layout is the fingerprint of the default layout.
const layout = "41/10/12/1ms/2024-01-01T00:00:00Z"

const (
	capacity = 1024
	lastTick = 1<<41 - 1
)

func scale() clock.Scale {
	return clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
}

func space() coord.Space {
	return coord.Space{Fingerprint: layout, Scale: scale(), LastTick: lastTick, Capacity: capacity}
}

// tickNow is the tick of this machine's clock.
func tickNow() int64 { return scale().Tick(time.Now().UnixMicro()) }

// request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s.
func request(n int) coord.Request {
	now := tickNow()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: layout, Scale: scale(), LastTick: lastTick,
		Workers: coord.Range{Count: n}, Capacity: capacity, TTL: 15 * time.Second,
		Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
	}
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	tb.Cleanup(cancel)
	return ctx
}
