package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// scripted answers every call of a client with the same reply, without a server.
type scripted struct{ reply any }

func (s scripted) DialHook(goredis.DialHook) goredis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody is there") }
}

func (s scripted) ProcessHook(goredis.ProcessHook) goredis.ProcessHook {
	return func(_ context.Context, cmd goredis.Cmder) error {
		if c, ok := cmd.(*goredis.Cmd); ok {
			c.SetVal(s.reply)
			return nil
		}
		return errors.New("not a script")
	}
}

func (s scripted) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// replyFrom makes a reply from JSON: whole numbers are integers, and everything else is what
// no script returns.
func replyFrom(text []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	return integers(v), true
}

func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return v
}

// FuzzReply: whatever a server, or something in front of it, replies to the scripts, a call
// returns what is in the reply or an error.
func FuzzReply(f *testing.F) {
	const seen = `["41/10/12/1ms/2024-01-01T00:00:00Z","N","",3,0,0,1700000000000000]`
	for _, r := range []string{
		`["OK",7,4,0,5000,"noeviction",""]`, `["OK",0,5000,4,1704067200000000,1000,2199023255551,1024]`, `["OK",12,1704067200000000,1000]`,
		`["OK",1704067200000000,1000,"41/10/12/1ms/2024-01-01T00:00:00Z",[[0,"held","host:1","pod-a",3,0,5000,"2026-05-17T09:30:00Z","2026-05-17T09:30:05Z"]],[["5","it is damaged"]]]`,
		`["OK","41/10/12/1ms/2024-01-01T00:00:00Z",0,2199023255551,1704067200000000,1000,0]`,
		`["FULL",1024,1024,1704067200000000,0]`, `["LAYOUT","40/11/12/1ms/2024-01-01T00:00:00Z"]`, `["SKEW",1704067200000000]`,
		`["QUARANTINED",5000,1704067200000000,1000,"L"]`, `["LOST","other","host:2","2026-05-17T09:30:00Z","9"]`, `["LOST",""]`,
		`["DAMAGED","5","generation is 0; it starts at 1"]`, `["FOREIGN","{ns}:free"]`, `["DENIED","info"]`, `["VERSION","6.2.1"]`, `["LINEAGE"]`,
		`["EVICTS","allkeys-lru"]`, `["SCALE","0","1000"]`, `["AHEAD",3,5000]`, `["SPENT",3,5000]`, `["CLOSED"]`, `["OTHER","{\"version\":1}"]`,
		`["NONE"]`, `["NOTNEW"]`, `["RANGE",1023]`, `["BEYOND",2199023255551,1704067200000000,1000]`, `["WHATEVER"]`, `[]`, `["OK"]`,
	} {
		f.Add([]byte(`[` + seen + `,` + r + `]`))
	}
	f.Add([]byte(`null`))
	f.Add([]byte(`[[],[1.5,true,{}]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		answer, ok := replyFrom(text)
		if !ok {
			return
		}
		client := target{addrs: []string{"nowhere:1"}}.single()
		client.AddHook(scripted{answer})
		defer client.Close()
		c, err := New(client, "ns", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx := t.Context()
		scale := clock.Scale{Epoch: 1704067200000000, Unit: 1000}
		req := coord.Request{
			Token: "t", Holder: "h", Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z", Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024,
			Workers: coord.Range{Count: 1024}, Now: 1000, Until: 5000, TTL: 15 * time.Second,
		}
		g, err := c.Acquire(ctx, req)
		understood(t, "acquire", err)
		if err == nil && g.Token != "t" {
			t.Errorf("%s: %v", text, g)
		}
		held := coord.Grant{WorkerID: 7, Generation: 3, Token: "t", NotAfter: 5000}
		if r, err := c.Renew(ctx, held, 6000); err == nil && (r.WorkerID != 7 || r.Token != "t") {
			t.Errorf("%s: %v", text, r)
		} else {
			understood(t, "renew", err)
		}
		understood(t, "release", c.Release(ctx, held, 100))
		_, err = c.List(ctx)
		understood(t, "list", err)
		_, err = c.Inspect(ctx)
		understood(t, "look", err)
		_, err = c.Quarantine(ctx, time.Time{})
		understood(t, "raise", err)
		_, err = c.Lower(ctx)
		understood(t, "lower", err)
		understood(t, "retire", c.Retire(ctx, 7))
		understood(t, "declaration", c.Init(ctx, coord.Space{Fingerprint: "x", Scale: scale, LastTick: 1000, Capacity: 4}))
	})
}

// understood checks an error: its kind is known, and nothing in it was printed wrongly.
func understood(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	known := false
	for _, kind := range []error{
		errReply, errLate, coord.ErrInvalid, coord.ErrNoWorkerID, coord.ErrLayoutMismatch, coord.ErrClockSkew, coord.ErrQuarantined, coord.ErrLeaseLost, coord.ErrNamespaceClosed,
	} {
		known = known || errors.Is(err, kind)
	}
	if !known && !strings.Contains(err.Error(), "redis: unexpected type") {
		t.Errorf("%s: %v", what, err)
	}
}

// FuzzURL: a URL of each kind is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"redis://h/0?namespace=ns", "rediss://:p@[::1]/3?namespace=ns&ttl=15s&skew=1s", "redis://h/-1?namespace=ns", "redis://a,b?namespace=ns",
		"redis-sentinel://u:p@h/m/1?namespace=ns&sentinel_user=u&sentinel_password=p", "redis-cluster://a,b?namespace=ns", "redis-cluster://a/1?namespace=ns",
		"redis://u@h?namespace=ns", "redis-sentinel://h?namespace=ns", "redis://h/0?namespace=a/b", "redis://h/0?namespace=ns&master=x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil || u.Has("ca") || u.Has("cert") || u.Has("key") { // those are files
			return
		}
		for _, k := range []kind{single, sentinel, cluster} {
			for _, secure := range []bool{false, true} {
				got, err := k.parse(secure, u)
				if err != nil {
					if c, err := open(k, secure, u); !errors.Is(err, coord.ErrInvalid) || c != nil {
						t.Errorf("%q: %v, %v", s, c, err)
					}
					continue
				}
				_, err = got.options.resolve()
				if err != nil || driver.CheckNamespace(got.namespace) != nil || len(got.addrs) != len(u.Hosts) || got.db < 0 ||
					(got.master == "") != (k.scheme != sentinel.scheme) || (got.tls != nil) != secure {
					t.Errorf("%q is read as %+v, %v", s, got, err)
				}
				for _, a := range got.addrs {
					if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
						t.Errorf("%q has the address %q", s, a)
					}
				}
			}
		}
	})
}
