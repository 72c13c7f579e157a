package kubernetes

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// edits is what changes answers on their way.
type edits struct {
	*fakeAPI
	edit func(r *http.Request, body string) string
}

// RoundTrip implements [http.RoundTripper].
func (e edits) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.fakeAPI.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader([]byte(e.edit(r, string(b)))))
	return resp, err
}

// wantRefused acquires with answers that are changed, which is to be an error that may pass.
func wantRefused(t *testing.T, says string, edit func(r *http.Request, body string) string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		on := false
		c, err := New(&http.Client{Transport: edits{f, func(r *http.Request, body string) string {
			if !on {
				return body
			}
			return edit(r, body)
		}}}, "http://h", "orders", Options{In: "shop", Clock: f.clock})
		c = drivertest.Closing(t, c, err)
		if err := c.Init(t.Context(), drivertest.Space()); err != nil {
			t.Fatal(err)
		}
		on = true
		req := drivertest.Request(4)
		req.Now = drivertest.Scale().Tick(f.clock.UnixMicro())
		req.OpenBy, req.Until = req.Now, req.Now+10_000
		if g, err := c.Acquire(drivertest.Within(t), req); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %v; want an error that says %q", g, err, says)
		}
	})
}

// TestPartOfAList: a part of a list would look like a loss.
func TestPartOfAList(t *testing.T) {
	wantRefused(t, "not a complete list of Leases", func(_ *http.Request, body string) string {
		return strings.Replace(body, `"continue":""`, `"continue":"next"`, 1)
	})
}
