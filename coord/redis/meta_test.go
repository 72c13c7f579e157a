package redis_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestStoredFields: what is stored, by the byte, but for what is random or a time.
func TestStoredFields(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	if _, err := c.Quarantine(within(t), time.UnixMicro(scale().Micro(1))); err != nil {
		t.Fatal(err)
	}
	req := request(2)
	req.Identity = "pod-1"
	g := mustAcquire(t, c, req)
	fields, err := client.HGetAll(within(t), slots(ns)).Result()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, value := range fields {
		got = append(got, name+" = "+value)
	}
	slices.Sort(got)
	text := strings.ReplaceAll(strings.Join(got, "\n"), g.Token, "TOKEN")
	for pattern, name := range map[string]string{
		`[0-9a-f]{40}-[0-9a-f]{40}`: "RUN_ID-REPLID", `"(since|renewed)":"[0-9:T.-]+Z"`: `"$1":"TIME"`, `"nonce":"[A-Z2-7]{26}"`: `"nonce":"RANDOM"`,
		`"notAfter":[0-9]+`: `"notAfter":TICK`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, name)
	}
	const want = `gen = 1
0 = {"version":1,"token":"TOKEN","identity":"pod-1","holder":"test","generation":1,"notBefore":1,"notAfter":TICK,"lastTick":2199023255551,"since":"TIME","renewed":"TIME","ttl":15000,"retired":false}
h:pod-1 = 0
meta = {"version":2,"minReader":2,"fingerprint":"41/10/12/1ms/2024-01-01T00:00:00Z","epoch":1704067200000000,"unit":1000,"lastTick":2199023255551,"capacity":1024,"nonce":"RANDOM","lineage":"RUN_ID-REPLID","maxHorizon":0,"floor":1,"base":1,"loss":{"nonce":"","floor":0,"found":0},"received":0}
shares = 0+2
t:TOKEN = 0`
	lines := strings.Split(want, "\n")
	slices.Sort(lines)
	gotLines := strings.Split(text, "\n")
	slices.Sort(gotLines)
	if !slices.Equal(gotLines, lines) {
		t.Errorf("stored is\n%s\nwant\n%s", strings.Join(gotLines, "\n"), strings.Join(lines, "\n"))
	}
	// The record of the namespace has the form that those of the other back ends have.
	if m, err := protocol.Decode[protocol.Meta]([]byte(fields["meta"])); err != nil || m.Base != 1 || m.Floor != 1 {
		t.Errorf("the record of the namespace is read as %+v, %v", m, err)
	}
}

// TestOtherVersions: the record of an earlier version, and of a later one that says that
// this program cannot read it, are refused with what to do. One that it can read is read,
// and what it knows nothing of stays.
func TestOtherVersions(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	for name, tc := range map[string]struct {
		change func(string) string
		says   string // empty: it is read
	}{
		"earlier": {func(string) string {
			return `{"version":1,"fingerprint":"` + layout + `","epoch":1704067200000000,"unit":1000,"lastTick":2199023255551,"capacity":1024,"floor":0,"quarantine":0,"lineage":"x-1"}`
		}, "before the first release"},
		"too late": {replace(`"version":2,"minReader":2`, `"version":3,"minReader":3`), "update this program"},
		"later":    {replace(`"version":2,"minReader":2`, `"version":3,"minReader":2`), ""},
	} {
		ns := newNamespace(t, client, layout)
		c := newCoordinator(t, client, ns, nil)
		meta := tc.change(stored(t, client, ns, "meta"))
		store(t, client, ns, "meta", meta)
		store(t, client, ns, "colour", "red")
		err := c.Init(within(t), space())
		_, err2 := c.Acquire(within(t), request(1))
		_, err3 := c.Quarantine(within(t), time.UnixMicro(scale().Micro(5)))
		if tc.says == "" {
			if err := errors.Join(err, err2, err3); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			want := strings.Replace(meta, `"floor":0,"base":0`, `"floor":5,"base":5`, 1)
			if now := stored(t, client, ns, "meta"); now != want || stored(t, client, ns, "colour") != "red" {
				t.Errorf("%s: the record is %s; want %s", name, now, want)
			}
			continue
		}
		for _, err := range []error{err, err2, err3} {
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), slots(ns)) {
				t.Errorf("%s: %v; want an error that says %q", name, err, tc.says)
			}
		}
		if now := stored(t, client, ns, "meta"); now != meta {
			t.Errorf("%s: the record was overwritten: %s; it was %s", name, now, meta)
		}
	}
}

// TestTokensAreBounded: what leads from an acquisition to its worker ID goes when another
// holder gets that, whether it was released or not.
func TestTokensAreBounded(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	for range 20 {
		endLease(t, client, ns, mustAcquire(t, c, request(2)).WorkerID)
	}
	if n, err := client.HLen(within(t), slots(ns)).Result(); err != nil || n != 3+2+2 {
		t.Errorf("%d fields, %v; want meta, gen, shares, 2 slots and 2 tokens", n, err)
	}
}

// TestLower: a floor that reaches further than a loss demands comes down to that, but not
// to below what somebody has asked for.
func TestLower(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	micro := func(tick int64) time.Time { return time.UnixMicro(scale().Micro(tick)).UTC() }
	lower := func(t *testing.T, c *redis.Coordinator) (tick, least int64) {
		t.Helper()
		least = tickNow() + quarantineTime.Milliseconds()
		floor, err := c.Lower(within(t))
		if err != nil {
			t.Fatal(err)
		}
		return scale().Tick(floor.UnixMicro()), least
	}
	far := tickNow() + (90 * 24 * time.Hour).Milliseconds()
	t.Run("by a wrong clock", func(t *testing.T) {
		ns := newNamespace(t, client, layout)
		raise(t, client, ns, far)
		c := newCoordinator(t, client, ns, nil)
		floor, least := lower(t, c)
		if floor < least || floor > least+callTime.Milliseconds() {
			t.Errorf("the floor is %d; it was %d, and now and all that a loss demands is %d", floor, far, least)
		}
		if nonce, loss := lossOf(t, client, ns); nonce != "x" || loss > floor {
			t.Errorf("the loss on record is %q, with floor %d", nonce, loss)
		}
		if g := mustAcquire(t, c, request(1)); g.NotBefore != floor {
			t.Errorf("%v was granted; the floor is %d", g, floor)
		}
	})
	t.Run("asked for", func(t *testing.T) {
		ns := newNamespace(t, client, layout)
		c := newCoordinator(t, client, ns, nil)
		asked := tickNow() + time.Hour.Milliseconds()
		if _, err := c.Quarantine(within(t), micro(asked)); err != nil {
			t.Fatal(err)
		}
		raise(t, client, ns, far)
		if floor, _ := lower(t, c); floor != asked {
			t.Errorf("the floor is %d; %d was asked for", floor, asked)
		}
	})
}

// raise gives a namespace the floor that a loss has asked for which somebody with a wrong
// clock has noticed.
func raise(tb testing.TB, client *goredis.Client, ns string, tick int64) {
	tb.Helper()
	meta := stored(tb, client, ns, "meta")
	meta = regexp.MustCompile(`"floor":\d+,"base":(\d+),"loss":{[^}]*}`).ReplaceAllString(meta, fmt.Sprintf(`"floor":%d,"base":$1,"loss":{"nonce":"x","floor":%d,"found":1}`, tick, tick))
	store(tb, client, ns, "meta", meta)
}
