package protocol

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// idleStore opens sessions that do nothing but end.
type idleStore struct {
	Store
	open int
}

// idleSession is one of them.
type idleSession struct {
	Session
	st   *idleStore
	over error
}

func (st *idleStore) Open(string, time.Duration, int) (Session, error) {
	st.open++
	return &idleSession{st: st}, nil
}

func (s *idleSession) Over() error { return s.over }

func (s *idleSession) End() {
	if s.over == nil {
		s.st.open--
		s.over = errors.New("ended")
	}
}

// held is how many tenants there are.
func (c *Coordinator) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tenants)
}

// TestNothingIsKept: what nobody uses for a TTL is given up, with its session, and what was
// dropped while it was in use is given up when it is not any more.
func TestNothingIsKept(t *testing.T) {
	const ttl = 10 * time.Second
	for name, use := range map[string]func(t *testing.T, c *Coordinator){
		"nobody uses it": func(t *testing.T, c *Coordinator) {
			t.Helper()
			a, err := c.enter("token", ttl, 1)
			if err != nil {
				t.Fatal(err)
			}
			c.leave(a)
			time.Sleep(ttl - 1)
			synctest.Wait()
			b, err := c.enter("token", ttl, 1)
			if err != nil || a != b {
				t.Errorf("it is another one before its time is over: %v", err)
			}
			c.leave(b)
			time.Sleep(ttl - 1)
			synctest.Wait()
			if c.held() != 1 {
				t.Error("its time was over although it was used")
			}
			time.Sleep(time.Nanosecond)
		},
		"it is dropped while another call uses it": func(t *testing.T, c *Coordinator) {
			t.Helper()
			a, err := c.enter("token", ttl, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.enter("token", ttl, 1); err != nil {
				t.Fatal(err)
			}
			c.drop(a)
			c.leave(a)
			c.mu.Lock()
			if err := c.reopen(a); err != nil {
				t.Error(err)
			}
			c.mu.Unlock()
			c.leave(a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := new(idleStore)
				c := &Coordinator{
					store: st, tenants: map[string]*tenant{},
					detector: &detector{limits: testLimits},
				}
				use(t, c)
				synctest.Wait()
				if n := c.held(); n != 0 || st.open != 0 {
					safetytest.Of(t).Errorf("%d tenants and %d sessions are kept", n, st.open)
				}
			})
		})
	}
}
