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
	last  uint32 // of the last request
}

// ServeHTTP implements http.Handler.
func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.takes)
	body, _ := io.ReadAll(r.Body)
	var req unalikev1.GenerateRequest
	_ = proto.Unmarshal(body, &req)
	s.mu.Lock()
	s.asked, s.last = append(s.asked, req.Count), req.Count
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

// TestShort: callers who use up the stock before the next one comes have twice as many, and a
// request under way all the time. With slower ones it is as before.
func TestShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{stub: newStub(1, "n"), takes: 100 * time.Millisecond, most: 1000}
		c := network{"a": s}.client(t, stocks(100), "a")
		take(t, c, 300, 10*time.Millisecond) // half of 64 last for 320 ms
		if got := s.counts(); !slices.Equal(got, []uint32{64, 48, 100, 100, 100}) {
			t.Errorf("at leisure: %v", got)
		}
		start := time.Now()
		take(t, c, 2000, 0)
		if got := s.counts(); len(got) < 8 || len(got) > 12 || got[len(got)-1] != 200 {
			t.Errorf("in a hurry: %v", got)
		}
		if took := time.Since(start); took > 1100*time.Millisecond { // 200 of them in 100 ms
			t.Errorf("2000 took %v", took)
		}
		take(t, c, 1000, 10*time.Millisecond)
		if got := s.counts(); got[len(got)-1] != 100 {
			t.Errorf("at leisure again: %v", got)
		}
	})
}

// TestShortOfMore: a server that does not allow as many as a client would like, or as Prefetch, is
// not asked for them again once that is found out, and no caller sees it.
func TestShortOfMore(t *testing.T) {
	for _, tt := range []struct{ prefetch, most, calls, refusals int }{
		{100, 150, 2000, 1},
		{0, 1000, 20_000, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{stub: newStub(1, "n"), takes: time.Millisecond, most: uint32(tt.most)}
			take(t, network{"a": s}.client(t, stocks(tt.prefetch), "a"), tt.calls, 0)
			many := slices.DeleteFunc(s.counts(), func(n uint32) bool { return n <= s.most })
			if len(many) == 0 || len(many) > tt.refusals {
				t.Errorf("%+v: %v were more IDs than it allows", tt, many)
			}
		})
	}
}
