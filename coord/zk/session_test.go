package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestLane: a request that was left alone when its time was up has been answered before the
// next one is made.
func TestLane(t *testing.T) {
	t.Parallel()
	opened, err := liveStore(t, zktest.Start(t, zktest.Options{})).Open("", 15*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	err = s.together(ctx, func(*client.Conn) error { cancel(); <-answered; return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a request that was left alone: %v", err)
	}
	made := func(*client.Conn) error { return client.ErrNoNode }
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.together(ctx, made); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request after one that has no answer: %v", err)
	}
	close(answered)
	if err := s.together(t.Context(), made); !errors.Is(err, client.ErrNoNode) {
		t.Errorf("a request after one that has its answer: %v", err)
	}
}

// TestOrder: what a look reads was read after it has written the clock, and what an earlier
// attempt has found is not taken for what is there.
func TestOrder(t *testing.T) {
	t.Parallel()
	opened, err := liveStore(t, zktest.Start(t, zktest.Options{})).Open("token", 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, n := opened.(*session), opened.(*session).nodes
	fresh := func(protocol.Span) protocol.Meta { return protocol.NewMeta(drivertest.Space()) }
	if _, err := s.Survey(t.Context(), protocol.Ask{New: fresh}); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		var clock, missing [4]*client.Stat
		slot := protocol.Entry[protocol.Slot]{Made: 1}
		reads := []request{s.slot(7, &slot)}
		for i := range clock {
			missing[i] = new(client.Stat)
			reads = append(reads, exists(n.clock(), &clock[i]), exists(n.owner(7), &missing[i]))
		}
		at, err := s.fetch(t.Context(), reads...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range clock {
			if clock[i].Version != int32(at.Number) || missing[i] != nil {
				safetytest.Of(t).Fatalf("read %d found version %d of the clock; it was written as version %d",
					i, clock[i].Version, int32(at.Number))
			}
		}
		if slot.There() {
			safetytest.Of(t).Fatal("a slot that is not there was found")
		}
	}
}

// TestEndUnderWay: sessions end while they connect and while requests are under way, with and
// without an answer. Of none of them a goroutine stays, which TestMain looks for.
func TestEndUnderWay(t *testing.T) {
	t.Parallel()
	proxy := proxytest.Start(t, zktest.Start(t, zktest.Options{}).Addr)
	st := liveStore(t, &zktest.Server{Addr: proxy.Addr})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			opened, err := st.Open("token", time.Minute, 0)
			if err != nil {
				t.Error(err)
				return
			}
			s := opened.(*session)
			time.AfterFunc(time.Duration(i)*5*time.Millisecond, func() {
				if s.End(); i == 100 {
					proxy.Hang()
				}
			})
			for s.Over() == nil {
				_ = s.together(t.Context(), func(c *client.Conn) error {
					_, _, _, err := c.ExistsW("/")
					return err
				})
			}
		})
	}
	all.Wait()
	began := time.Now()
	st.life.End()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// linked returns a link and its other side.
func linked(answerTime time.Duration) (l *link, server net.Conn) {
	server, far := net.Pipe()
	return &link{Conn: far, answerTime: answerTime}, server
}

// TestLinkRefuses: what is no answer of ZooKeeper is refused before the client believes its length.
func TestLinkRefuses(t *testing.T) {
	t.Parallel()
	for answer, foreign := range map[string]bool{
		"HTTP/1.1 400 Bad Request": true, "-ERR unknown command": true, "\x80\x00\x00\x05": true,
		"\x00\x00\x01\x01": true,
		"\x00\x00\x00\x25": false,
	} {
		l, server := linked(time.Minute)
		go func() { _, _ = server.Write([]byte(answer)) }()
		b := make([]byte, 4)
		if n, err := l.Read(b); errors.Is(err, errForeign) != foreign || !foreign &&
			(n != 4 || binary.BigEndian.Uint32(b) != 37) {
			t.Errorf("%q: %x, %v", answer, b[:n], err)
		}
		_ = server.Close()
	}
}

// TestLinkDeadline: the answer to the request for a session is not waited for as long as the
// client wants, nor without an end for the rest of it.
func TestLinkDeadline(t *testing.T) {
	t.Parallel()
	l, server := linked(20 * time.Millisecond)
	defer server.Close()
	time.AfterFunc(10*time.Second, func() { _ = server.Close() }) // if it is waited for all the same
	_ = l.SetReadDeadline(time.Now().Add(time.Hour))
	go func() { _, _ = server.Write([]byte{0, 0, 0, 37, 0}) }()
	b := make([]byte, 4)
	if _, err := l.Read(b); err != nil {
		t.Fatal(err)
	}
	_ = l.SetReadDeadline(time.Time{})
	_, _ = l.Read(b[:1])
	if _, err := l.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the rest of an answer that does not come: %v", err)
	}
	_ = l.SetReadDeadline(time.Now().Add(time.Hour))
	go func() { time.AfterFunc(50*time.Millisecond, func() { _, _ = server.Write([]byte{1}) }) }()
	if _, err := l.Read(b); err != nil {
		t.Errorf("a later answer: %v", err)
	}
}
