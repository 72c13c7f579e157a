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

// TestShort: callers who use up the stock before the next one comes have twice as many, and a request under way all the
// time. With slower ones it is as before.
func TestShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{stub: newStub(1, "n"), takes: 100 * time.Millisecond, most: 1000}
		c := network{"a": s}.client(t, client.Options{Prefetch: 100, Timeout: time.Minute, MaxAge: time.Hour}, "a")
		take(t, c, 300, 10*time.Millisecond) // half of 64 last for 320 ms
		if got := s.counts(); !slices.Equal(got[:2], []uint32{64, 48}) || !slices.Equal(got[2:], []uint32{100, 100, 100}) {
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

// TestShortOfMore: a server that does not allow as many is not asked for them again, and no caller sees it.
func TestShortOfMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{stub: newStub(1, "n"), takes: time.Millisecond, most: 150}
		c := network{"a": s}.client(t, client.Options{Prefetch: 100, Timeout: time.Minute, MaxAge: time.Hour}, "a")
		take(t, c, 2000, 0)
		many := 0
		for _, n := range s.counts() {
			if n > s.most {
				many++
			}
		}
		if many != 1 {
			t.Errorf("%d requests had more IDs than it allows", many)
		}
	})
}
