package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// paced takes so long for each ID, as a server does whose layout has few of them a second.
type paced struct {
	*slow
	each time.Duration
}

// ServeHTTP implements http.Handler.
func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.slow.ServeHTTP(w, r)
	p.mu.Lock()
	takes := time.Duration(p.last) * p.each
	p.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		w.WriteHeader(lost)
	}
}

// set has it allow IDs, which take so long from now on.
func (p *paced) set(each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most, p.each = 1000, each
}

// RoundTrip gives up with the context, as a connection does.
func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := network{r.URL.Host: p}.RoundTrip(r)
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return resp, err
}

// TestShortOfTime: callers who use up what comes go on having IDs of a server that has no time for twice as many in one
// request.
func TestShortOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paced{slow: &slow{stub: newStub(1, "n")}}
		p.set(time.Millisecond / 10)
		c, err := client.New([]string{"http://a"}, client.Options{Prefetch: 100, Timeout: time.Minute, HTTP: &http.Client{Transport: p}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		take(t, c, 1000, 0)
		if got := p.counts(); !slices.Contains(got, 200) {
			t.Errorf("while there is time: %v", got)
		}
		const each = 13 * time.Millisecond
		p.set(each)
		start := time.Now()
		take(t, c, 1000, 0)
		if took, most := time.Since(start), 1000*each+4*time.Second; took > most { // one request was too large
			t.Errorf("1000 took %v, want at most %v; it was asked for %v", took, most, p.counts())
		}
	})
}

// TestOneCannotRead: a server that takes every request for a bad one, as a port of TLS does with a request that is not of
// TLS, or that allows fewer IDs, does not stop one that answers.
func TestOneCannotRead(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	a, b := serve(t, f, "x"), serve(t, f, "x")
	a.fault.Store(says(http.StatusBadRequest))
	c := newClient(t, client.Options{Prefetch: 10, Timeout: time.Minute, MaxAge: time.Hour}, a, b)
	for range 200 {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrder: an ID is above every one that was had before it was asked for, by whichever caller, while stocks are used up,
// dropped and replaced all the time.
func TestOrder(t *testing.T) {
	for name, o := range map[string]client.Options{
		"short":   {Prefetch: 8, Timeout: time.Minute, MaxAge: time.Hour},
		"dropped": {Prefetch: 500, Timeout: time.Minute, MaxAge: 50 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			c := network{"a": newStub(1, "n")}.client(t, o, "a")
			var newest atomic.Int64
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() {
					for range 5000 {
						before := newest.Load()
						id, err := c.Next()
						if err != nil || id <= core.ID(before) {
							t.Errorf("%v after %d: %v", id, before, err)
							return
						}
						for now := newest.Load(); now < int64(id) && !newest.CompareAndSwap(now, int64(id)); {
							now = newest.Load()
						}
					}
				})
			}
			work.Wait()
		})
	}
}

// TestNotRefusedAnyMore: a caller who gives up while servers say nothing hears of that, and not of a refusal before.
func TestNotRefusedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paced{slow: &slow{stub: newStub(1, "n")}}
		c, err := client.New([]string{"http://a"}, client.Options{Prefetch: 10, HTTP: &http.Client{Transport: p}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Next(); !errors.Is(err, client.ErrRefused) {
			t.Fatalf("%v", err)
		}
		time.Sleep(time.Second) // until it is asked again
		p.set(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.NextContext(ctx); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRefused) {
			t.Errorf("%v", err)
		}
		p.set(0)
		if _, err := c.Next(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestMostFrozen: while one server of three answers and the others say nothing, all callers but the first ones have IDs in
// time: a round has one wait for a server that has not answered before.
func TestMostFrozen(t *testing.T) {
	for first := range 3 {
		synctest.Test(t, func(t *testing.T) { mostFrozen(t, first) })
	}
}

// mostFrozen is TestMostFrozen for a client that asks one of the servers first.
func mostFrozen(t *testing.T, first int) {
	t.Helper()
	frozen := func() *paced { return &paced{slow: &slow{stub: newStub(1, "n"), most: 1000}, each: time.Hour} }
	a, b, good := frozen(), frozen(), &paced{slow: &slow{stub: newStub(1, "n"), most: 1000}}
	all := hosts{"a": a, "b": b, "c": good}
	c, err := client.New([]string{"http://a", "http://b", "http://c"}, client.Options{Prefetch: 10, HTTP: &http.Client{Transport: all}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	c.StartAt(first)
	if _, err := c.NextContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, err := c.Next(); err != nil {
			failed++
		}
	}
	if na, nb := len(a.counts()), len(b.counts()); failed > 0 || na < 3 || nb < 3 {
		t.Errorf("%d calls failed; those that say nothing were asked %d and %d times", failed, na, nb)
	}
}

// hosts are servers by their names.
type hosts map[string]http.RoundTripper

// RoundTrip implements http.RoundTripper.
func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) { return h[r.URL.Host].RoundTrip(r) }
