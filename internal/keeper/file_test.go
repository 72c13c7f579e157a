package keeper_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// fileRig is a back end, and a disk for the processes of one keeper after the other.
type fileRig struct {
	t    *testing.T
	fake *coordtest.Fake
	led  *ledger
	disk *disk
}

func newFileRig(t *testing.T, workers int) *fileRig {
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: workers})
	return &fileRig{t, f, newLedger(t, f), newDisk()}
}

// process makes the next process.
func (r *fileRig) process(edit ...func(*keeper.Config)) (*rig, *access) {
	return r.disk.join(r.t, r.fake, r.led, append([]func(*keeper.Config){lease(ttl, 10*time.Minute)},
		edit...)...)
}

// run makes the next process and starts it.
func (r *fileRig) run(edit ...func(*keeper.Config)) (*rig, *access) {
	r.t.Helper()
	p, a := r.process(edit...)
	p.start()
	p.stamps(10 * time.Second)
	return p, a
}

// record returns the record on the disk.
func (r *fileRig) record() (rec keeper.Record) {
	r.t.Helper()
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	if err := json.Unmarshal(r.disk.content, &rec); err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// TestFile_RestartInAnOutage: a process that crashed or was stopped while the coordinator is away
// starts within 2 s, again and again, and serves on when the coordinator is back.
func TestFile_RestartInAnOutage(t *testing.T) {
	each(t, map[string]bool{"crash": true, "stop": false}, func(t *testing.T, crash bool) {
		r := newFileRig(t, 4)
		end := func(p *rig, a *access) {
			if crash {
				_ = p.crash(a) // its calls fail
			} else {
				p.stop()
			}
		}
		p, a := r.run()
		p.serves(20 * time.Second)
		r.fake.Outage(true)
		p.serves(30 * time.Second)
		end(p, a)
		acquired := r.fake.Count(coordtest.Acquire)
		for range 5 {
			pass(time.Second)
			p, a = r.process()
			if err := p.lasts(0, 2100*time.Millisecond, p.Start); err != nil {
				t.Fatal(err)
			}
			p.stamps(4 * time.Second)
			p.serves(30 * time.Second)
			end(p, a)
		}
		if n := r.fake.Count(coordtest.Release); n != 0 {
			t.Errorf("%d releases were sent in the outage", n)
		}
		if n := r.fake.Count(coordtest.Acquire); n != acquired {
			t.Errorf("%d calls of Acquire in the outage", n-acquired)
		}
		r.fake.Outage(false)
		p, _ = r.run()
		p.serves(15 * time.Minute)
		p.holds(1, r.record().Pieces[0].WorkerID)
		p.stop()
		if h := r.fake.Holders(); len(h) != 0 {
			t.Errorf("held: %v", h)
		}
		if rec := r.record(); len(rec.Pieces) != 0 || rec.Sent != "" {
			t.Errorf("the disk has %+v", rec)
		}
	})
}

// TestFile_OutageEnds: a process that goes on without the coordinator takes its grant over within a
// renewal interval and a second after the outage.
func TestFile_OutageEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		p, a := r.run()
		r.fake.Outage(true)
		_ = p.crash(a) // its calls fail
		p, _ = r.run()
		p.serves(time.Minute)
		r.fake.Outage(false)
		within(t, every+time.Second, "the grant is taken over", func() bool {
			return r.record().Sent == ""
		})
		p.serves(time.Minute)
	})
}

// TestFile_SlowCoordinator: a start waits 2 s for the coordinator, or half of a shorter deadline,
// and goes on with the window in the file if there is no answer. The grant is taken over later.
func TestFile_SlowCoordinator(t *testing.T) {
	type times struct{ latency, deadline, most time.Duration }
	each(t, map[string]times{
		"answers in time":  {1500 * time.Millisecond, time.Minute, 1600 * time.Millisecond},
		"takes too long":   {4 * time.Second, time.Minute, 2100 * time.Millisecond},
		"a short deadline": {4 * time.Second, 3 * time.Second, 1600 * time.Millisecond},
	}, func(t *testing.T, c times) {
		r := newFileRig(t, 4)
		p, a := r.run()
		_ = p.crash(a) // its calls fail
		acquired := r.fake.Count(coordtest.Acquire)
		p, _ = r.process()
		p.line.set(func(l *line) { l.slow = func(coordtest.Op) time.Duration { return c.latency } })
		ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
		defer cancel()
		if err := p.lastsIn(ctx, 0, c.most, p.Start); err != nil {
			t.Fatal(err)
		}
		p.stamps(4 * time.Second)
		within(t, 10*time.Second, "the grant is taken over", func() bool {
			return r.record().Sent == ""
		})
		p.serves(time.Minute)
		if n := r.fake.Count(coordtest.Acquire); n != acquired {
			t.Errorf("%d calls of Acquire", n-acquired)
		}
	})
}

// TestFile_SlowDisk: saves of a second delay no ID. While the disk hangs, IDs end at the mark, the
// error names the file, and renewals go on; service comes back when the disk answers.
func TestFile_SlowDisk(t *testing.T) {
	each(t, map[string]time.Duration{"half a second": 500 * time.Millisecond, "a second": time.Second},
		func(t *testing.T, takes time.Duration) {
			r := newFileRig(t, 4)
			p, _ := r.run()
			r.disk.set(func(d *disk) { d.fate = lasting(takes) })
			p.serves(time.Minute)
		})
	t.Run("hangs", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			r := newFileRig(t, 4)
			p, _ := r.run()
			p.serves(10 * time.Second)
			r.disk.set(func(d *disk) { d.fate = lasting(time.Minute) })
			pass(2 * time.Second) // until the save that hangs has begun
			r.disk.set(func(d *disk) { d.fate = lasting(5 * time.Millisecond) })
			renewals := r.fake.Count(coordtest.Renew)
			if got, not := p.stampFor(50 * time.Second); got > 30 || not < 400 {
				t.Errorf("%d IDs, %d refused", got, not)
			}
			if why := p.gate.reason(); why == nil || !strings.Contains(why.Error(), `"state"`) {
				t.Errorf("the reason is %v", why)
			}
			p.made(coordtest.Renew, renewals, 8, 14)
			p.stamps(15 * time.Second)
			p.serves(time.Minute)
			p.because(nil)
			p.holds(1, r.record().Pieces[0].WorkerID)
		})
	})
}

// TestFile_FailingDisk: a process with a disk that fails leases one worker ID at most, and serves
// when it works again.
func TestFile_FailingDisk(t *testing.T) {
	each(t, map[string]bool{"from the start": true, "later": false}, func(t *testing.T, first bool) {
		r := newFileRig(t, 4)
		fails := func() (time.Duration, bool, bool) { return time.Millisecond, true, false }
		r.disk.set(func(d *disk) { d.fate = lasting(time.Millisecond) })
		p, _ := r.process()
		if first {
			r.disk.set(func(d *disk) { d.fate = fails })
			p.Begin()
		} else {
			p.start()
			p.stamps(time.Second)
			r.disk.set(func(d *disk) { d.fate = fails })
		}
		for range 120 {
			pass(time.Second)
			if h := r.fake.Holders(); len(h) > 1 || first && len(h) > 0 {
				t.Fatalf("held: %v", h)
			}
			if p.clock.Step(-time.Second); p.gate.stamp() {
				p.Poke()
			}
		}
		if why := p.gate.reason(); !errors.Is(why, errDisk) {
			t.Errorf("the reason is %v", why)
		}
		p.clock.Step(2 * time.Minute)
		r.disk.set(func(d *disk) { d.fate = lasting(time.Millisecond) })
		p.stamps(30 * time.Second)
	})
}

// TestFile_DoesNotFit: a grant of something else is left alone, and another worker ID is leased.
func TestFile_DoesNotFit(t *testing.T) {
	each(t, map[string]func(*keeper.Config){
		"another layout":   func(c *keeper.Config) { c.Request.Fingerprint = "other" },
		"another identity": func(c *keeper.Config) { c.Request.Identity = "other" },
		"another TTL":      func(c *keeper.Config) { c.Request.TTL *= 2 },
		"another share": func(c *keeper.Config) {
			c.Request.Workers = coord.Range{First: 4, Count: 4}
		},
		"another place": func(c *keeper.Config) { c.Place = "elsewhere" },
		"a shorter layout": func(c *keeper.Config) {
			c.Request.LastTick = scale.Tick(time.Now().UnixMicro()) + 9000
		},
		"a clock gone back": nil,
	}, func(t *testing.T, edit func(*keeper.Config)) {
		r := newFileRig(t, 8)
		p, a := r.run()
		_ = p.crash(a)                                           // its calls fail
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 8}) // which knows no layout yet
		p = join(t, f, newLedger(t, f), lease(ttl, 10*time.Minute), func(c *keeper.Config) {
			c.File, c.Place = &access{disk: r.disk, t: t}, "fake"
			if edit != nil {
				edit(c)
			}
		})
		if edit == nil {
			p.clock.Step(-time.Minute)
		}
		p.start()
		if n := p.fake.Count(coordtest.Resume); n != 0 {
			t.Errorf("%d calls of Resume", n)
		}
		if n := p.fake.Count(coordtest.Acquire); n == 0 {
			t.Error("nothing was acquired")
		}
	})
}

// TestFile_WindowIsOver: a start in an outage that is longer than the window says why the file does
// not help.
func TestFile_WindowIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		p, a := r.run()
		r.fake.Refuse(true)
		_ = p.crash(a) // its calls fail
		pass(time.Hour)
		p, _ = r.process()
		err := p.Start(t.Context())
		if err == nil || !errors.Is(err, coordtest.ErrUnreachable) ||
			!strings.Contains(err.Error(), `the last window in state file "state" ended at`) {
			t.Errorf("Start: %v", err)
		}
	})
}

// TestFile_InUse: a process waits for the one that has the file.
func TestFile_InUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		first, _ := r.run()
		second, _ := r.process()
		second.Begin()
		pass(10 * time.Second)
		second.because(errInUse)
		first.serves(10 * time.Second)
		first.stop()
		second.stamps(2 * time.Second)
		second.serves(10 * time.Second)
	})
}

// TestFile_NamespaceMadeAnew: the windows of a namespace that does not exist any more are not used,
// and the error names the file.
func TestFile_NamespaceMadeAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		p, a := r.run()
		_ = p.crash(a) // its calls fail
		f := coordtest.NewFake(coordtest.FakeConfig{Workers: 4})
		p, _ = r.disk.join(t, f, newLedger(t, f), lease(ttl, 10*time.Minute))
		p.line.set(func(l *line) { l.nonce = "another" })
		err := p.Start(context.Background())
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), `state file "state"`) {
			t.Errorf("Start: %v", err)
		}
	})
}

// TestFile_ReleaseAfterSave: after a step of the clock another worker ID is used at once, and the
// old one is released when the disk does not have it any more.
func TestFile_ReleaseAfterSave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		p, _ := r.run()
		p.serves(10 * time.Second)
		old := r.record().Pieces[0]
		r.disk.set(func(d *disk) { d.fate = lasting(3 * time.Second) })
		p.clock.Step(-time.Minute)
		p.Poke()
		within(t, 20*time.Second, "the old worker ID is released", func() bool {
			return len(r.fake.CallsOf(coordtest.Release)) == 1
		})
		if now := r.record().Pieces[0]; now.WorkerID == old.WorkerID {
			t.Errorf("the disk has %v, and had %v", now, old)
		}
		p.stamps(10 * time.Second)
	})
}

// TestFile_StopWithAHangingDisk: Stop waits for the disk for a moment, releases nothing that the
// disk may have, and keeps the lock until the write has ended.
func TestFile_StopWithAHangingDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 4)
		p, a := r.run()
		r.disk.set(func(d *disk) { d.fate = lasting(time.Minute) })
		pass(3 * time.Second)
		err := p.lasts(time.Second, 4*time.Second, p.close)
		if err == nil || !strings.Contains(err.Error(), "stays locked") {
			t.Errorf("Stop: %v", err)
		}
		if n := r.fake.Count(coordtest.Release); n != 0 {
			t.Errorf("%d releases were sent", n)
		}
		if _, err := (&access{disk: r.disk, t: t}).Load(&keeper.Record{}); !errors.Is(err, errInUse) {
			t.Errorf("the file is not locked: %v", err)
		}
		pass(time.Minute)
		if a.user != nil {
			t.Error("the file stays locked")
		}
	})
}

// TestFile_LostGrantLeavesTheFile: a grant that was lost is not on the disk any more while its
// window is used to its end, and no IDs are refused until then.
func TestFile_LostGrantLeavesTheFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newFileRig(t, 2)
		p, a := r.run()
		p.serves(10 * time.Second)
		old := r.record().Pieces[0]
		r.disk.set(func(d *disk) { d.fate = lasting(time.Second) })
		p.forget(old.NotAfter+60_000, old.NotBefore, old.NotAfter+60_000)
		within(t, every+time.Second, "the loss is noticed", func() bool {
			return p.gate.reason() != nil
		})
		before := r.fake.Count(coordtest.Acquire)
		within(t, 5*time.Second, "another worker ID is acquired", func() bool {
			return r.fake.Count(coordtest.Acquire) > before
		})
		for _, p := range r.record().Pieces {
			if p.Token == old.Token {
				t.Errorf("the disk has %v when another worker ID is acquired", p)
			}
		}
		p.serves(time.Minute)
		mark := r.record().Marks[old.WorkerID]
		if now := p.now(); mark < now || mark > now+5000 {
			t.Errorf("the mark of the lost worker ID is %d at tick %d", mark, now)
		}
		_ = p.crash(a) // its calls fail
	})
}

// lasting is the fate of writes that take some time.
func lasting(takes time.Duration) func() (time.Duration, bool, bool) {
	return func() (time.Duration, bool, bool) { return takes, false, true }
}
