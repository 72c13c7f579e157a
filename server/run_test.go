package server_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// listed is a namespace in which another process holds worker ID 5.
type listed struct{ *namespace }

func (listed) List(context.Context) ([]coord.Slot, error) {
	return []coord.Slot{
		{WorkerID: 0, State: coord.SlotHeld},
		{WorkerID: 5, State: coord.SlotHeld},
		{WorkerID: 7, State: coord.SlotRetired},
		{WorkerID: 9, State: coord.SlotFree},
	}, nil
}

// board is a meter that has the numbers of worker IDs.
type board struct {
	tally
	mu     sync.Mutex
	counts map[string]int
}

func (b *board) WorkerIDs(_ string, byState map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts = byState
}

// now returns the numbers of worker IDs.
func (b *board) now() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// TestServer_Run: Run opens the tags, again a second after an error, and closes them at the end. It
// reads nonces and holders once a minute, and tokens every 2 s.
func TestServer_Run(t *testing.T) {
	token := tokenFile(t, generates)
	synctest.Test(t, func(t *testing.T) {
		n := newNamespace("n1")
		g := generatorOn(t, listed{n}, core.DefaultLayout())
		set := numbers(t, segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 10}),
			segment.Config{})
		var opened atomic.Int32
		b := new(board)
		s, err := server.New(server.Config{
			Generators: map[string]*core.Generator{"orders": g}, Meter: b,
			Tokens: []server.TokenFile{{Path: token, Operate: true}},
			Numbers: func(context.Context) (server.Numbers, error) {
				if opened.Add(1) < 3 {
					return nil, errors.New("down")
				}
				return set, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.Run(ctx); close(ended) }()
		synctest.Wait()
		if s.Ready() == nil || opened.Load() != 1 || n.asked.Load() != 1 {
			t.Errorf("at first: %v, the store was opened %d times, the nonce read %d times", s.Ready(),
				opened.Load(), n.asked.Load())
		}
		want := map[string]int{"held": 2, "retired": 1, "opens_later": 0, "free": 1021}
		if !maps.Equal(b.now(), want) {
			t.Errorf("worker IDs: %v, want %v", b.now(), want)
		}
		if err := os.WriteFile(token, []byte(operates), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		if s.Ready() != nil || opened.Load() != 3 || n.asked.Load() != 2 {
			t.Errorf("later: %v, the store was opened %d times, the nonce read %d times", s.Ready(),
				opened.Load(), n.asked.Load())
		}
		if changed, err := s.ReloadTokens(); changed || err != nil {
			t.Errorf("the token was not read again: %v, %v", changed, err)
		}
		cancel()
		<-ended
		if err := s.Ready(); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("the tags after Run: %v", err)
		}
	})
}
