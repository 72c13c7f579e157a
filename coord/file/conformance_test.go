package file

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/statefile"
)

// harness has a coordinator of its own for each participant, as processes have; all of them share
// the file, which is known to be new.
func harness(tb testing.TB) coordtest.Harness {
	path := filepath.Join(tb.TempDir(), "ids")
	participant := func(path string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			c, err := New(path, Options{})
			if err != nil {
				tb.Fatal(err)
			}
			return c
		}
	}
	return coordtest.Harness{
		Client: participant(path), OtherNamespace: participant(path + "-other"), Sticky: true,
		Expire: func(tb testing.TB, g coord.Grant) {
			tb.Helper()
			edit(tb, path, "marks", func(marks map[string]json.RawMessage) {
				delete(marks, strconv.Itoa(g.WorkerID))
			})
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			c := participant(path)(tb, coord.Range{})
			tb.Cleanup(func() { _ = c.Close() })
			drivertest.RaiseFloor(tb, c.(coord.AdminCoordinator), tick)
		},
	}
}

// request is one of those who share n worker IDs.
func request(n int) coord.Request {
	req := drivertest.Request(n)
	req.Until = req.Now + 2000
	return req
}

// edit changes a field of a file's content as a program would that knows its form.
func edit[V any](tb testing.TB, path, field string, change func(V)) {
	tb.Helper()
	format := statefile.Format{Name: "unalike-ids", Version: 2}
	b, err := os.ReadFile(path)
	content := map[string]json.RawMessage{}
	var value V
	err = cmp.Or(err, format.Decode(b, &content))
	err = cmp.Or(err, json.Unmarshal(content[field], &value))
	change(value)
	var err1, err2 error
	content[field], err1 = json.Marshal(value)
	b, err2 = format.Encode(content)
	if err = cmp.Or(err, err1, err2, os.WriteFile(path, b, 0o600)); err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) { coordtest.Run(t, harness) }

func TestStepsBack(t *testing.T) {
	t.Parallel()
	drivertest.StepsBack(t, harness(t).Client(t, coord.Range{}))
}

func TestAdmin(t *testing.T) { coordtest.RunAdmin(t, harness) }
