package client_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/client"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// slow answers after so long, allows most IDs a request, and remembers what it was asked for.
type slow struct {
	*stub
	takes time.Duration
	most  uint32

	mu    sync.Mutex
	asked []uint32
}

// ServeHTTP implements http.Handler.
func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.takes)
	body, _ := io.ReadAll(r.Body)
	var req unalikev1.GenerateRequest
	_ = proto.Unmarshal(body, &req)
	s.mu.Lock()
	s.asked = append(s.asked, req.Count)
	most := s.most
	s.mu.Unlock()
	if req.Count > most {
		http.Error(w, "too many", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.stub.ServeHTTP(w, r)
}

// counts returns what it was asked for since the last call.
func (s *slow) counts() (asked []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, s.asked = s.asked, nil
	return asked
}

// take takes n IDs, one every so often.
func take(t *testing.T, c *client.Client, n int, every time.Duration) {
	t.Helper()
	for range n {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(every)
	}
}

// TestFewerAllowed: a server that does not allow as many as a client would like is not asked for
// them again once that is found out, and no caller sees it.
func TestFewerAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{stub: newStub(1, "n"), takes: time.Millisecond, most: 1000}
		take(t, network{"a": s}.client(t, stocks(0), "a"), 20_000, 0)
		many := slices.DeleteFunc(s.counts(), func(n uint32) bool { return n <= s.most })
		if len(many) == 0 || len(many) > 4 {
			t.Errorf("%v were more IDs than it allows", many)
		}
	})
}
