package local

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// inBubble runs f in a bubble whose clock is past the epoch, with a rig whose server has that clock.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // a bubble begins before the epoch
		r := newRig(t)
		r.server.Clock = present{}.UnixMicro
		f(t, r)
	})
}

// TestSecondCallAsksForTheSame: the keeper asks once more for what it has asked for before, while that is under way. That
// call is not of an earlier time: what is given then reaches as far as if it had not been made.
func TestSecondCallAsksForTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.known()
		r.away.Store(true)
		time.Sleep(time.Minute) // its window is over
		answer := make(chan struct{})
		synctest.Wait()
		p.link.trouble = func(string, func(coord.Coordinator)) error {
			<-answer
			return nil
		}
		r.away.Store(false)
		until := tickNow() + horizon
		type reply struct {
			g   coord.Grant
			err error
		}
		replies := make(chan reply, 2)
		ask := func() {
			g, err := p.Renew(p.ctx(), g, until)
			replies <- reply{g, err}
		}
		go ask()
		time.Sleep(8 * time.Second)
		go ask()
		time.Sleep(time.Second)
		close(answer)
		if first := <-replies; first.err != nil || first.g.NotAfter < tickNow() {
			t.Errorf("granted is %v, %v; it is tick %d", first.g, first.err, tickNow())
		}
		<-replies
	})
}

// TestTimeOutsThatComeAtOnce: a back end that says at once that its time is up, a proxy's for example, is not asked a
// thousand times.
func TestTimeOutsThatComeAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.known()
		time.Sleep(time.Minute) // its window is over
		asked := 0
		synctest.Wait()
		p.link.trouble = func(string, func(coord.Coordinator)) error {
			if asked++; asked > 100 {
				return nil
			}
			return fmt.Errorf("the proxy: %w", context.DeadlineExceeded)
		}
		_, err := p.Renew(p.ctx(), g, tickNow()+horizon)
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || asked > 5 {
			t.Errorf("after %d calls: %v", asked, err)
		}
	})
}

// TestWindowThatIsOver: what is left in the file of a window that is over is no answer: the back end is asked.
func TestWindowThatIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.known()
		time.Sleep(time.Minute) // the machine sleeps
		synctest.Wait()
		p.link.trouble = func(string, func(coord.Coordinator)) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		h, err := p.Renew(p.ctx(), g, tickNow()+horizon)
		if err != nil || h.NotAfter < tickNow() {
			t.Errorf("granted is %v, %v; it is tick %d", h, err, tickNow())
		}
	})
}
