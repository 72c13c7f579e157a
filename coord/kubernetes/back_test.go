package kubernetes_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestWentBack: while a floor is raised, the cluster's store is put back to what it was before, and others
// may go on from there. Whoever raises the floor notices: it is on record when it was told so.
func TestWentBack(t *testing.T) {
	c := newCluster(t)
	for name, others := range map[string]int{"alone": 0, "others raise it, too": 3} {
		t.Run(name, func(t *testing.T) {
			for n, more := 1, true; more; n++ {
				ns := rand.Text()
				k := c.new(t, ns, kubernetes.Options{})
				drivertest.MustAcquire(t, k, drivertest.Request(4))
				restore := kubernetes.Backup(t, c.client, c.URL, ns, c.in)
				raiser, l := c.linked(t, ns)
				acted := l.before(n, func() {
					restore()
					other := c.new(t, ns, kubernetes.Options{})
					for i := range others {
						if _, err := other.Quarantine(drivertest.Within(t), floorIn(time.Duration(i+1)*time.Second)); err != nil {
							t.Errorf("Quarantine of another one: %v", err)
						}
					}
				})
				want := floorIn(time.Minute)
				got, err := raiser.Quarantine(drivertest.Within(t), want)
				if err != nil || got.Before(want) {
					t.Fatalf("Quarantine that was undone before request %d: %v, %v", n, got, err)
				}
				if now, err := k.Inspect(drivertest.Within(t)); err != nil || now.Floor.Before(want) {
					t.Errorf("undone before request %d: the floor is %v, %v; want %v", n, now.Floor, err, want)
				}
				more = acted()
			}
		})
	}
}
