package kubernetes

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	f, ns := newFakeAPI(), drivertest.LongName()
	client := &http.Client{Transport: f}
	s := hand(t, client, "http://h", ns, "shop")
	l := drivertest.Limits{Workers: drivertest.Most(MaxCapacity), Clock: f.clock.Time}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		c, err := New(client, "http://h", ns, Options{In: "shop", Clock: f.clock})
		return drivertest.Closing(tb, c, err)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		first := f.leases[s.objectName(0)]
		for id := 1; id < l.Workers; id++ {
			c, err := contentOf(first.Metadata.Annotations[annotation])
			if err != nil {
				tb.Fatal(err)
			}
			c.Record, c.Token = json.RawMessage(like(string(c.Record), id)), like(c.Token, id)
			text, err := c.text()
			if err != nil {
				tb.Fatal(err)
			}
			one := first
			one.Metadata.Name, one.Metadata.UID = s.objectName(id), like("uid", id)+one.Metadata.UID
			one.Metadata.Annotations = maps.Clone(first.Metadata.Annotations)
			one.Metadata.Annotations[annotation] = text
			f.leases[one.Metadata.Name] = one
			f.leases[s.marksName(id/perMarks)].Metadata.Annotations[mark(id)] = one.Metadata.UID
		}
	}
	l.Run(t)
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	f := newFakeAPI()
	drivertest.Stripes(t, f.open(t), f.clock)
}
