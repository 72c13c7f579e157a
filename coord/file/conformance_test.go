package file

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// harness has a coordinator of its own for each participant, as processes have; all of them share
// the file, which is known to be new.
func harness(tb testing.TB) coordtest.Harness {
	path := filepath.Join(tb.TempDir(), "ids")
	participant := func(path string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, _ coord.Range) coord.Coordinator {
			tb.Helper()
			c, err := open(path, Options{}, false)
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
			edit(tb, path, "marks", func(marks map[string]json.RawMessage) { delete(marks, strconv.Itoa(g.WorkerID)) })
		},
		RaiseFloor: func(tb testing.TB, tick int64) {
			tb.Helper()
			c := participant(path)(tb, coord.Range{})
			tb.Cleanup(func() { _ = c.Close() })
			drivertest.RaiseFloor(tb, c.(coord.Admin), tick)
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
	b, err := os.ReadFile(path)
	_, body, _ := bytes.Cut(b, []byte("\n"))
	var content map[string]json.RawMessage
	var value V
	err = cmp.Or(err, json.Unmarshal(body, &content))
	err = cmp.Or(err, json.Unmarshal(content[field], &value))
	change(value)
	var err1, err2 error
	content[field], err1 = json.Marshal(value)
	body, err2 = json.Marshal(content)
	err = cmp.Or(err, err1, err2, os.WriteFile(path, fmt.Appendf(nil, "unalike 2 %x\n%s", sha256.Sum256(body), body), 0o600))
	if err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) { coordtest.Run(t, harness) }

func TestAdmin(t *testing.T) { coordtest.RunAdmin(t, harness) }
