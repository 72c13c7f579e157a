package history

import (
	"context"
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

const (
	randomWorkers = 3
	impatience    = 2 * time.Millisecond // of a call whose reply is lost
)

// client does at random what a generator may do, and more.
type client struct {
	*rand.Rand
	fake   *coordtest.Fake
	c      coord.Coordinator
	grants []coord.Grant // that it has, or had
	token  string        // of an acquisition of unknown outcome
}

// step makes one call.
func (c *client) step() error {
	ctx, cancel := context.WithTimeout(context.Background(), impatience)
	defer cancel()
	c.spoil()
	if len(c.grants) == 0 || c.IntN(6) == 0 {
		return c.acquire(ctx)
	}
	i := c.IntN(len(c.grants))
	g, until := c.grants[i], c.grants[i].NotAfter+c.Int64N(2000)
	var err error
	switch c.IntN(8) {
	case 0:
		err = c.c.Release(ctx, g, g.NotBefore+c.Int64N(g.NotAfter-g.NotBefore+1))
	case 1:
		g, err = c.c.(coord.Resumer).Resume(ctx, g, crypto.Text(), until)
		if err == nil {
			c.grants = append(c.grants, g)
		}
	case 2:
		var other sync.WaitGroup // two renewals at once
		other.Go(func() { _, _ = c.c.Renew(ctx, g, until-1) })
		_, err = c.c.Renew(ctx, g, until)
		other.Wait()
	default:
		if g, err = c.c.Renew(ctx, g, until); err == nil {
			c.grants[i] = g
		}
	}
	return err
}

// acquire tries again with its token if the outcome was unknown.
func (c *client) acquire(ctx context.Context) error {
	req := drivertest.Request(randomWorkers)
	if c.token != "" {
		req.Token = c.token
	}
	c.token = req.Token
	g, err := c.c.Acquire(ctx, req)
	if err == nil {
		c.grants, c.token = append(c.grants, g), ""
	}
	return err
}

// spoil plans what happens to one of the next calls, of whomever.
func (c *client) spoil() {
	op := coordtest.Op(c.IntN(4))
	switch c.IntN(30) {
	case 0:
		c.fake.LoseRequests(op, 1)
	case 1, 2:
		c.fake.LoseReplies(op, 1)
	case 3:
		c.fake.DelayRequests(op, 2*impatience, 1)
	case 4:
		c.fake.DelayReplies(op, impatience/4, 1)
	case 5:
		c.fake.Expire(c.IntN(randomWorkers))
	case 6:
		c.fake.RaiseFloor(drivertest.TickNow() + c.Int64N(20_000))
	}
}

// randomHistory lets several processes work at once and returns their files. Some are killed
// during their last call.
func randomHistory(t *testing.T, seed uint64, fake *coordtest.Fake) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	var all sync.WaitGroup
	for i := range 4 {
		path := filepath.Join(dir, fmt.Sprint(i))
		recorded, err := Record(fake.Client(), path)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		c := &client{Rand: rand.New(rand.NewPCG(seed, uint64(i))), fake: fake, c: recorded}
		all.Go(func() {
			for range 40 {
				_ = c.step() // refusals and lost replies are what is wanted
			}
			if err := recorded.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, path := range paths[:2] {
		cutLastEnd(t, path)
	}
	return paths
}

// cutLastEnd makes the last line of a file, which ends a call, one that is half written.
func cutLastEnd(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-5], 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRandomHistoriesAreLegal: whatever the network does, a correct coordinator is not accused.
func TestRandomHistoriesAreLegal(t *testing.T) {
	calls, unclear := 0, 0
	for seed := range fulltest.Rounds(20, 2000) {
		fake := coordtest.NewFake(coordtest.FakeConfig{})
		out, err := Check(randomHistory(t, uint64(seed), fake), limit)
		if err != nil || out.Undecided != nil || out.Workers == 0 {
			t.Fatalf("seed %d: %+v, %v", seed, out, err)
		}
		if out.Illegal != nil {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(out.Illegal, "\n"))
		}
		calls, unclear = calls+out.Calls, unclear+out.Unclear
	}
	t.Logf("%d calls, %d of them of unknown outcome", calls, unclear)
	if unclear < 20 || unclear == calls {
		t.Errorf("of %d calls %d were of unknown outcome", calls, unclear)
	}
}

// TestRandomHistoriesWithOneLieAreIllegal: one result that cannot be is found among all others.
func TestRandomHistoriesWithOneLieAreIllegal(t *testing.T) {
	lies := 0
	for seed := range fulltest.Rounds(10, 500) {
		fake := coordtest.NewFake(coordtest.FakeConfig{})
		paths := randomHistory(t, uint64(seed), fake)
		for name, lie := range liesAbout(t, paths) {
			lies++
			out, err := Check(append(paths, write(t, []call{lie})...), limit)
			if err != nil || out.Illegal == nil && out.Undecided == nil {
				t.Errorf("seed %d: %s: %v: %+v, %v", seed, name, step{call: lie}, out, err)
			}
		}
	}
	if lies < 10 {
		t.Errorf("%d lies were told", lies)
	}
}

// liesAbout returns calls that cannot have come after those of the files: what a former holder
// gets after another one has acquired.
func liesAbout(t *testing.T, paths []string) map[string]call {
	t.Helper()
	var newest, former *grant // of worker ID 0
	end := int64(0)
	for _, path := range paths {
		calls, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			end = max(end, c.begin.At)
			if c.end != nil {
				end = max(end, c.end.At)
			}
			if !c.succeeded() || c.end.Grant == nil || c.end.Grant.Worker != 0 {
				continue
			}
			switch g := c.end.Grant; {
			case newest == nil || g.Generation > newest.Generation:
				newest, former = g, newest
			case g.Generation < newest.Generation:
				former = g
			}
		}
	}
	if former == nil {
		return nil
	}
	old := during(end+1, end+2, acquire(former))
	return map[string]call{
		"renewed":  during(end+1, end+2, renew(former, former.NotAfter+100_000)),
		"released": during(end+1, end+2, release(former, former.NotBefore)),
		"resumed":  during(end+1, end+2, resume(former, "x", former.NotAfter+100_000)),
		"acquired": old,
	}
}
