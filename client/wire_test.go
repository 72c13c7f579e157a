package client_test

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// stub is a server that counts its IDs, and remembers which of them it has sent whole.
type stub struct {
	mu     sync.Mutex
	next   uint64
	nonce  string
	layout string
	sent   map[core.ID]bool
	change func(*unalikev1.GenerateResponse)
}

func newStub(next uint64, nonce string) *stub {
	return &stub{next: next, nonce: nonce, layout: "l", sent: map[core.ID]bool{}}
}

// reply issues IDs in runs of three or less.
func (s *stub) reply(r *http.Request) ([]byte, *unalikev1.GenerateResponse) {
	body, _ := io.ReadAll(r.Body)
	var req unalikev1.GenerateRequest
	const path = "/unalike.v1.IDService/Generate"
	if err := proto.Unmarshal(body, &req); err != nil || r.Method != "POST" || r.URL.Path != path {
		return nil, nil
	}
	resp := &unalikev1.GenerateResponse{NamespaceNonce: s.nonce, Layout: s.layout}
	for left := req.Count; left > 0; {
		n := min(left, 3)
		resp.Runs = append(resp.Runs, &unalikev1.Run{First: s.next, Count: n})
		s.next += uint64(n) + 5
		left -= n
	}
	if s.change != nil {
		s.change(resp)
	}
	text, _ := proto.Marshal(resp)
	return text, resp
}

// deliver remembers what a caller has.
func (s *stub) deliver(resp *unalikev1.GenerateResponse) {
	for _, run := range resp.Runs {
		for i := range run.Count {
			s.sent[core.ID(run.First+uint64(i))] = true
		}
	}
}

// has reports whether a caller has got an ID.
func (s *stub) has(id core.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[id]
}

// ServeHTTP answers without fault.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, resp := s.reply(r)
	if resp == nil {
		http.Error(w, "what is that?", http.StatusBadRequest)
		return
	}
	s.deliver(resp)
	w.Header().Set("Content-Type", "application/proto")
	_, _ = w.Write(text)
}

// network leads to stubs by their hosts, without any connection.
type network map[string]http.Handler

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	n[r.URL.Host].ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err // as a connection gives up
	}
	if w.Code == 0 || w.Code == lost {
		return nil, errors.New("the connection was cut")
	}
	return w.Result(), nil
}

// lost is the status of a reply that does not arrive.
const lost = 599

func (n network) client(t *testing.T, o client.Options, hosts ...string) *client.Client {
	t.Helper()
	var urls []string
	for _, h := range hosts {
		urls = append(urls, "http://"+h)
	}
	o.HTTP = &http.Client{Transport: n}
	c, err := client.New(urls, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.StartAt(0)
	return c
}

// single are options of a client that asks for each ID.
var single = client.Options{Prefetch: 1, Timeout: time.Minute}

// TestDifferential: whatever happens to replies, each ID that the client returns has come in a
// reply that arrived whole, from a server of the namespace, and comes once.
func TestDifferential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		a, b, other := newStub(1000, "n1"), newStub(1<<40, "n1"), newStub(1000, "n2")
		var mu sync.Mutex
		var cut atomic.Int64
		faulty := func(s *stub) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				fault := random.IntN(6)
				mu.Unlock()
				s.mu.Lock()
				defer s.mu.Unlock()
				text, resp := s.reply(r)
				w.Header().Set("Content-Type", "application/proto")
				switch fault {
				case 0:
					w.WriteHeader(lost)
				case 1:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 2:
					cut.Add(1)
					_, _ = w.Write(text[:len(text)/2]) // a proxy that does not notice
				default:
					s.deliver(resp)
					_, _ = w.Write(text)
				}
			})
		}
		all := network{"a": faulty(a), "b": faulty(b), "other": faulty(other)}
		c := all.client(t, client.Options{Prefetch: 10, Timeout: time.Hour, MaxAge: time.Hour}, "a", "b",
			"other")
		seen, mixed := map[core.ID]bool{}, 0
		first := "" // the namespace whose reply came first
		for len(seen) < 3000 {
			id, err := c.Next()
			switch {
			case errors.Is(err, client.ErrMixed):
				mixed++
				time.Sleep(time.Second)
				continue
			case errors.Is(err, client.ErrRefused) && cut.Load() >= 3: // of each server one after the other
				time.Sleep(time.Second)
				continue
			case err != nil:
				t.Fatal(err)
			}
			ours, theirs := a.has(id) || b.has(id), other.has(id)
			if first == "" {
				first = map[bool]string{true: "n1", false: "n2"}[ours]
			}
			if seen[id] || first == "n1" && !ours || first == "n2" && !theirs {
				safetytest.Of(t).Fatalf("%v: seen %v, sent by n1 %v, by n2 %v", id, seen[id], ours, theirs)
			}
			seen[id] = true
		}
		if mixed == 0 || cut.Load() == 0 || first != "n1" {
			t.Errorf("mixed %d, cut %d, first %s: nothing was tried", mixed, cut.Load(), first)
		}
	})
}

// TestMixed: servers whose layouts or nonces differ are never used together; which of them is right
// is not known, so that the one that came first stays.
func TestMixed(t *testing.T) {
	for name, change := range map[string]func(*stub){
		"nonce":         func(s *stub) { s.nonce = "n2" },
		"no nonce":      func(s *stub) { s.nonce = "" },
		"layout":        func(s *stub) { s.layout = "l2" },
		"both together": func(s *stub) { s.nonce, s.layout = "n2", "l2" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newStub(1, "n1"), newStub(1<<40, "n1")
				change(b)
				c := network{"a": a, "b": b}.client(t, single, "a", "b")
				for range 100 {
					if id, err := c.Next(); err != nil || id >= 1<<40 {
						safetytest.Unless(t, err).Fatalf("%v, %v", id, err)
					}
					if _, err := c.Next(); !errors.Is(err, client.ErrMixed) ||
						!strings.Contains(err.Error(), "b: ") {
						t.Fatalf("%v", err)
					}
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// TestMixedWhileDown: what one server says does not change the namespace while another one, that
// has said something else, is away. One that is away for ten minutes is gone.
func TestMixedWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStub(1, "n1"), newStub(1<<40, "n2")
		all := network{"a": a, "b": b}
		c := all.client(t, single, "a", "b")
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
		all["a"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(lost) })
		for range 59 {
			if id, err := c.Next(); !errors.Is(err, client.ErrMixed) {
				safetytest.Unless(t, err).Fatalf("%v, %v", id, err)
			}
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Minute)
		if _, err := c.Next(); err != nil {
			t.Errorf("ten minutes after the other server has gone: %v", err)
		}
	})
}

// TestMadeAgain: a namespace that was made again is used once all servers have said so for a while.
// A wrong server that is behind one address with right ones never is.
func TestMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newStub(1, "n1"), newStub(1<<40, "n1")
		c := network{"a": a, "b": b}.client(t, single, "a", "b")
		next := func(want error) {
			t.Helper()
			if _, err := c.Next(); !errors.Is(err, want) {
				t.Fatalf("%v; want %v", err, want)
			}
		}
		next(nil)
		next(nil)
		a.nonce = "n2"
		next(client.ErrMixed)
		next(nil)
		b.nonce = "n2"
		next(client.ErrMixed) // a, and b has said something else last
		next(client.ErrMixed) // b, and this begins to count
		began := time.Now()
		for time.Since(began) < 29*time.Second {
			next(client.ErrMixed)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		next(nil)
		next(nil)
	})
	synctest.Test(t, func(t *testing.T) {
		right, wrong := newStub(1, "n1"), newStub(1<<40, "n2")
		turn := 0
		balancer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if turn++; turn%3 == 0 {
				wrong.ServeHTTP(w, r)
				return
			}
			right.ServeHTTP(w, r)
		})
		c := network{"a": balancer}.client(t, single, "a")
		for range 300 {
			if id, err := c.Next(); id >= 1<<40 || err != nil && !errors.Is(err, client.ErrMixed) {
				safetytest.Of(t).Fatalf("%v, %v", id, err)
			}
			time.Sleep(20 * time.Second)
		}
	})
}

// TestBadReplies: what no server of unalike says is refused, and nothing of it is used.
func TestBadReplies(t *testing.T) {
	for name, change := range map[string]func(*unalikev1.GenerateResponse){
		"fewer": func(r *unalikev1.GenerateResponse) { r.Runs = r.Runs[1:] },
		"more":  func(r *unalikev1.GenerateResponse) { r.Runs[0].Count++ },
		"an empty run": func(r *unalikev1.GenerateResponse) {
			r.Runs = append(r.Runs,
				&unalikev1.Run{First: 1})
		},
		"no layout":      func(r *unalikev1.GenerateResponse) { r.Layout = "" },
		"64 bits":        func(r *unalikev1.GenerateResponse) { r.Runs[1].First = 1 << 63 },
		"beyond 63 bits": func(r *unalikev1.GenerateResponse) { r.Runs[1].First = math.MaxInt64 - 1 },
	} {
		a := newStub(1, "n1")
		a.change = change
		c := network{"a": a}.client(t, client.Options{Prefetch: 6, Timeout: time.Minute}, "a")
		if id, err := c.Next(); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: %v, %v", name, id, err)
		}
	}
	a := newStub(math.MaxInt64-2, "n1") // the largest IDs that there are
	c := network{"a": a}.client(t, client.Options{Prefetch: 3, Timeout: time.Minute}, "a")
	ids := make([]core.ID, 3)
	if _, err := c.Fill(context.Background(), ids); err != nil || ids[2] != math.MaxInt64 {
		t.Errorf("%v, %v", ids, err)
	}
}
