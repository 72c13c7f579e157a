package protocol_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// strict is a server with a clock that refuses to settle a lineage late, as Redis does.
func strict() *memstore.Server {
	server := memstore.NewServer("a")
	server.Clock = (&shifted{}).UnixMicro
	server.Strict = true
	return server
}

// hooked is a right clock that calls a function before it is read.
type hooked struct {
	shifted
	hook func()
}

func (h *hooked) UnixMicro() int64 {
	if h.hook != nil {
		h.hook()
	}
	return h.shifted.UnixMicro()
}

// TestFloor_LateAnswer: while a loss is dealt with, the answer to a request arrives that was made
// 8 s before. The floor is for the time of the answer that it rests on, and covers the window that
// was lost.
func TestFloor_LateAnswer(t *testing.T) {
	for name, change := range map[string]func(*protocol.Settings){
		"forgets": forgets, "keeps": func(*protocol.Settings) {},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server, own := strict(), &hooked{}
			server.Strict = name == "forgets"
			p, st := tap(t, server, own, change)
			other, _ := tap(t, server, nil, change)
			if err := p.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
			share := func(first int) coord.Range { return coord.Range{First: first, Count: 1} }
			mustAcquire(t, p, within("mine", share(0)))
			restore := server.Snapshot()

			// The answer to a listing is held back.
			release := make(chan struct{})
			var listing sync.WaitGroup
			st.tap = func(_ string, answered bool) error {
				if answered {
					<-release
				}
				return nil
			}
			listing.Go(func() {
				if _, err := p.Inspect(t.Context()); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(8 * time.Second)
			synctest.Wait()
			st.tap = nil

			req := within("theirs", share(1))
			req.Until = req.Now + (2 * time.Minute).Milliseconds()
			lost := mustAcquire(t, other, req)
			if _, err := p.Inspect(t.Context()); err != nil { // which sees the number of that write
				t.Fatal(err)
			}
			restore()
			surveys := 0
			st.tap = func(call string, answered bool) error {
				if !answered || call != "survey" {
					return nil
				}
				if surveys++; surveys == 2 { // the first has noticed the loss
					own.hook = func() {
						own.hook = func() {}
						close(release)
						listing.Wait()
					}
				}
				return nil
			}
			g := mustAcquire(t, p, within("again", share(1)))
			if meta := server.Meta(); meta.Loss.Nonce == "" || meta.Floor < lost.NotAfter ||
				g.NotBefore < meta.Floor || surveys < 2 {
				t.Errorf("after %d surveys, %v is granted above the floor %d; lost was %v", surveys, g,
					meta.Floor, lost)
			}
		})
	}
}

// TestRaise_SlowWrites: a store that refuses a change which comes after its deadline settles a loss
// all the same, however slow it is: the deadline of the next attempt allows for that. The floor is
// above all that can be lost until then, and no higher than the allowance makes it.
func TestRaise_SlowWrites(t *testing.T) {
	const writes = 7 * time.Second
	for name, surveys := range map[string]time.Duration{"all calls": writes, "writes alone": 0} {
		runInOurTime(t, name, func(t *testing.T) {
			server := strict()
			p, st := tap(t, server, nil, forgets)
			if err := p.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
			g := mustAcquire(t, p, wants("t"))
			server.Move("b") // a restart, after which everything is refused
			began := time.Now()
			st.tap = func(call string, answered bool) error {
				switch {
				case answered:
				case call == "commit":
					time.Sleep(writes)
				default:
					time.Sleep(surveys)
				}
				return nil
			}
			notices(t, p, g)
			took := time.Since(began)
			meta := server.Meta()
			found := protocol.Time(meta.Loss.Found)
			least := found.Add(2*time.Minute + time.Second)
			floor := protocol.Time(space.Scale.Micro(meta.Floor))
			if meta.Loss.Nonce == "" || took > 6*writes || floor.Before(least) ||
				floor.After(least.Add(protocol.Allowance(writes, writes))) {
				t.Errorf("after %v the namespace is %+v, with the floor at %v; found at %v", took, meta, floor,
					found)
			}
		})
	}
}
