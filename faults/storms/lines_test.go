package storms

import (
	"net"
	"testing"
	"time"
)

// TestNewest: of what passes, the newest acquisition of each process is kept, and arrives again and again.
func TestNewest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := newNewest(2)
	for _, request := range []string{"EVAL contender-1-x", "EVAL a renewal", "EVAL contender-1-y"} {
		if n.keep([]byte(request)) {
			t.Errorf("%q does not pass", request)
		}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		n.send(l.Addr().String(), stop)
	}()
	for range 2 {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if k, err := c.Read(b); err != nil || string(b[:k]) != "EVAL contender-1-y" {
			t.Errorf("%q, %v came; want the newest acquisition", b[:k], err)
		}
		_ = c.Close()
	}
	close(stop)
	<-done
}

// TestCalmer: only the pauses are longer.
func TestCalmer(t *testing.T) {
	c := cuts.calmer(3)
	if c.gap != (span{3 * cuts.gap.low, 3 * cuts.gap.high}) || c.lasts != cuts.lasts || cuts.gap.low != 2*time.Second {
		t.Errorf("%+v, three times as calm as %+v", c, cuts)
	}
}
