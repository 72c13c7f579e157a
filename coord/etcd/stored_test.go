package etcd_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestDamagedSlot: a slot that this driver cannot have written is refused with the
// name of its key, and stays as it is.
func TestDamagedSlot(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.Client(t)
	for _, folder := range []string{"slot", "holder"} {
		t.Run(folder, func(t *testing.T) {
			drivertest.DamagedSlots(t, func(t *testing.T) (coord.Coordinator, drivertest.Stored) {
				ns := rand.Text()
				key := fmt.Sprintf("/unalike/%s/%s/%010d", ns, folder, 0)
				return newCoordinator(t, client, ns), drivertest.Stored{
					Name: key,
					Get:  func() string { return stored(t, client, key) },
					Put: func(s string) {
						if _, err := client.Put(within(t), key, s); err != nil {
							t.Fatal(err)
						}
					},
					Part: true,
				}
			}, map[string]drivertest.Damage{
				"another worker": {Spoil: drivertest.Replace(`"worker":0`, `"worker":5`), Says: "worker is 5"},
			})
		})
	}
}

// TestHolderMissing: a slot of which only the window is there is refused.
func TestHolderMissing(t *testing.T) {
	server := etcdtest.Start(t)
	client, ns := server.Client(t), rand.Text()
	c := newCoordinator(t, client, ns)
	g := mustAcquire(t, c, request(1))
	key := fmt.Sprintf("/unalike/%s/holder/%010d", ns, 0)
	if _, err := client.Delete(within(t), key); err != nil {
		t.Fatal(err)
	}
	_, err := c.Renew(within(t), g, g.NotAfter+1)
	drivertest.WantInvalid(t, "Renew", err, key, "the key is missing, and /unalike/")
	endLease(t, client, ns, 0)
	_, err = newCoordinator(t, client, ns).Acquire(within(t), request(1))
	drivertest.WantInvalid(t, "Acquire", err, key)
}

// TestForeignKeys: what others have put under the namespace is named in the error.
func TestForeignKeys(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.Client(t)
	for key, value := range map[string]string{
		"namespace":         `{"version":1}`,
		"owner/0000000000x": "",
		"slot/0000000000":   `{}`, // and no meta
		"owner/0000000001":  "",   // likewise
		"identity/pod-a":    "7",
		"meta":              `{"version":2}`, // of an earlier layout
	} {
		t.Run(key, func(t *testing.T) {
			ns := rand.Text()
			if _, err := client.Put(within(t), "/unalike/"+ns+"/"+key, value); err != nil {
				t.Fatal(err)
			}
			req := request(capacity)
			req.Identity = "pod-a"
			says := "/unalike/" + ns + "/"
			switch key {
			case "slot/0000000000":
				says = "the key is missing and there are slots"
			case "meta":
				says = "/meta of a version of unalike before the first release"
			}
			g, err := newCoordinator(t, client, ns).Acquire(within(t), req)
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("Acquire with %s = %q stored: %v, %v; want %v that says %q", key, value, g, err,
					coord.ErrInvalid, says)
			}
		})
	}
}
