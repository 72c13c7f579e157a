package zk_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// value returns the value of a node.
func (o operator) value(tb testing.TB, path string) string {
	tb.Helper()
	b, _, err := o.Get(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// put changes the value of a node, and nothing else.
func (o operator) put(tb testing.TB, path, value string) {
	tb.Helper()
	if _, err := o.Set(path, []byte(value), -1); err != nil {
		tb.Fatal(err)
	}
}

// TestDamagedSlot: a slot that this driver cannot have written is refused with the
// name of its node, and stays as it is.
func TestDamagedSlot(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	drivertest.DamagedSlots(t, func(t *testing.T) (coord.Coordinator, drivertest.Stored) {
		ns := rand.Text()
		path := slotPath(ns, 0)
		return newCoordinator(t, []string{server.Addr}, ns, nil), drivertest.Stored{
			Name: path,
			Get:  func() string { return o.value(t, path) },
			Put:  func(s string) { o.put(t, path, s) },
		}
	}, map[string]drivertest.Damage{
		"another worker": {Spoil: drivertest.Replace(`"worker":0`, `"worker":5`), Says: "worker is 5"},
	})
}

// TestForeignNodes: what others have put into the namespace, or taken from it, is
// named in the error.
func TestForeignNodes(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	for name, spoil := range map[string]func(ns string){
		"meta":              func(ns string) { o.put(t, ns+"/meta", `{"version":1}`) },
		"meta gone":         func(ns string) { o.deleteTree(t, ns+"/meta") },
		"clock gone":        func(ns string) { o.deleteTree(t, ns+"/clock") },
		"owners gone":       func(ns string) { o.deleteTree(t, ns+"/owners") },
		"slots gone":        func(ns string) { o.deleteTree(t, ns+"/slots") },
		"tokens gone":       func(ns string) { o.deleteTree(t, ns+"/tokens") },
		"identities gone":   func(ns string) { o.deleteTree(t, ns+"/identities") },
		"identity":          func(ns string) { o.create(t, ns+"/identities/pod-a") },
		"owner of nobody":   func(ns string) { o.create(t, ns+"/owners/me") },
		"a namespace alone": func(ns string) { o.deleteTree(t, ns); o.create(t, ns) },
	} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			if err := newCoordinator(t, []string{server.Addr}, ns, nil).Init(within(t),
				space()); err != nil {
				t.Fatal(err)
			}
			spoil(spacePath(ns))
			req := request(capacity)
			req.Identity = "pod-a"
			c := newCoordinator(t, []string{server.Addr}, ns, nil)
			_, err := c.Acquire(within(t), req)
			errs := map[string]error{"Acquire": err}
			if strings.HasSuffix(name, " gone") && name != "tokens gone" && name != "identities gone" {
				// which nobody has yet
				errs["Init"] = c.Init(within(t), space())
			}
			for what, err := range errs {
				drivertest.WantInvalid(t, what, err, spacePath(ns)+"/")
			}
		})
	}
}
