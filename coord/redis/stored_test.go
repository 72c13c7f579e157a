package redis_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// stored returns a field of a namespace's hash.
func stored(tb testing.TB, client *goredis.Client, ns, field string) string {
	tb.Helper()
	v, err := client.HGet(within(tb), redis.KeyOf(ns), field).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// store overwrites a field of a namespace's hash.
func store(tb testing.TB, client *goredis.Client, ns, field, value string) {
	tb.Helper()
	if err := client.HSet(within(tb), redis.KeyOf(ns), field, value).Err(); err != nil {
		tb.Fatal(err)
	}
}

// TestStoredFields: the fields that are stored and what the script makes of them by the byte, but
// for what is random or a time. TestGolden has the records.
func TestStoredFields(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns)
	if err := c.Retire(within(t), 17); err != nil {
		t.Fatal(err)
	}
	req := request(1)
	req.Identity = "pod-1"
	g := mustAcquire(t, c, req)
	got := []string{}
	for name, value := range client.HGetAll(within(t), redis.KeyOf(ns)).Val() {
		got = append(got, name+" = "+value)
	}
	slices.Sort(got)
	text := strings.ReplaceAll(strings.Join(got, "\n"), g.Token, "TOKEN")
	for pattern, name := range map[string]string{
		`\b[0-9a-f]{40}\b`: "HEX", `\{.*\}`: "{}", `= 1[0-9]{15}(0+)\b`: "= ENDS$1",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, name)
	}
	free := strings.Repeat("0", 16)
	want := `0 = 1 {}
17 = 1 {}
h:pod-1 = 0
l:0 = ENDS` + strings.Repeat(free, 15) + `
l:1 = ` + free + "9000000000000000" + strings.Repeat(free, 14) + `
meta = 2 {}
n = 4
origin = HEX-HEX HEX 0
t:TOKEN = 0`
	if text != want {
		t.Errorf("stored is\n%s\nwant\n%s", text, want)
	}
}

// TestDamaged: what this driver cannot have written is refused with its name, and stays as it is.
func TestDamaged(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for name, spoil := range map[string]func(t *testing.T, ns string){
		"meta": func(t *testing.T, ns string) { t.Helper(); store(t, client, ns, "meta", "x") },
		"meta missing": func(t *testing.T, ns string) {
			t.Helper()
			client.HDel(within(t), redis.KeyOf(ns), "meta")
		},
		"namespace": func(t *testing.T, ns string) {
			t.Helper()
			client.Set(within(t), redis.KeyOf(ns), "x", 0)
		},
	} {
		ns := newNamespace(t, client, layout)
		c := newCoordinator(t, client, ns)
		g := mustAcquire(t, c, request(capacity))
		spoil(t, ns)
		key, _, _ := strings.Cut(name, " ")
		_, err := c.Acquire(within(t), request(capacity))
		drivertest.WantInvalid(t, name, err, key)
		if h, err := c.Renew(within(t), g, g.NotAfter); errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("%s: Renew: %v, %v; what is damaged proves nothing", name, h, err)
		}
	}
	drivertest.DamagedSlots(t, func(t *testing.T) (coord.Coordinator, drivertest.Stored) {
		ns := newNamespace(t, client, layout)
		return newCoordinator(t, client, ns), drivertest.Stored{
			Name: redis.KeyOf(ns),
			Get:  func() string { return stored(t, client, ns, "0") },
			Put:  func(s string) { store(t, client, ns, "0", s) },
		}
	}, map[string]drivertest.Damage{"another's": {Spoil: drivertest.Replace(`"worker":0`,
		`"worker":1`), Says: "the slot of worker ID 1"}})
}
