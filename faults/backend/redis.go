package backend

import (
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// scripted is part of every call of a coordinator at Redis: EVAL and EVALSHA.
const scripted = "eval"

// redis is what a single Redis, one with a Sentinel and a Cluster have in common.
type redis struct {
	common
	nodes []*redistest.Server
}

// newRedis returns a back end of such servers. They keep every write on disk.
func newRedis(name string, nodes ...*redistest.Server) redis {
	b := redis{common{name: name, call: scripted}, nodes}
	for _, s := range nodes {
		b.servers, b.dirs = append(b.servers, s), append(b.dirs, s.Dir)
	}
	return b
}

// Flush implements Flusher.
func (b *redis) Flush(tb testing.TB) { tb.Helper(); b.writable(tb, "FLUSHALL") }

// Fill implements Filler.
func (b *redis) Fill(tb testing.TB) { tb.Helper(); b.all(tb, "CONFIG", "SET", "maxmemory", "1") }

// Drain implements Filler.
func (b *redis) Drain(tb testing.TB) { tb.Helper(); b.all(tb, "CONFIG", "SET", "maxmemory", "0") }

// all has every server carry out a command.
func (b *redis) all(tb testing.TB, command ...any) {
	tb.Helper()
	for _, s := range b.nodes {
		s.Do(tb, command...)
	}
}

// writable has every server that is not a replica carry out a command.
func (b *redis) writable(tb testing.TB, command ...any) {
	tb.Helper()
	for _, s := range b.nodes {
		if role(tb, s) == "master" {
			s.Do(tb, command...)
		}
	}
}

// single is one Redis.
type single struct{ redis }

func startRedis(tb testing.TB) Backend {
	tb.Helper()
	s := redistest.Start(tb, redistest.Options{AppendOnly: true})
	b := &single{newRedis("redis", s)}
	b.proxy = proxy.Start(tb, s.Addr)
	Declare(tb, b, core.DefaultLayout())
	return b
}

// URL implements Backend.
func (b *single) URL(options ...string) string {
	return "redis://" + b.proxy.Addrs()[0] + newSettings(options).query()
}
