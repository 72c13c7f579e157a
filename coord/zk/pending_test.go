package zk

import (
	"testing"
	"time"
)

// TestPending: how long there may be silence on a connection, and when it is dead though
// something arrives.
func TestPending(t *testing.T) {
	const ttl = 15 * time.Second
	began := time.Unix(0, 0)
	at := began.Add
	for _, tt := range []struct {
		name string
		ttl  time.Duration
		do   func(p *pending)
		now  time.Duration // when something arrives
		want time.Duration // how long there may be silence from then on; 0: for ever
		dead bool
	}{
		{"nothing is sent", ttl, func(p *pending) { p.add(1, at(0)); p.answered(1, at(time.Second)) }, time.Hour, 0, false},
		{"fast answers", ttl, func(p *pending) { p.add(1, at(0)); p.answered(1, at(time.Millisecond)); p.add(2, at(1)) }, time.Second, 5 * time.Second, false},
		{"a short session", 2 * time.Second, func(p *pending) { p.add(1, at(0)) }, time.Second, time.Second, false},
		{"slow answers", ttl, func(p *pending) { p.add(1, at(0)); p.answered(1, at(3*time.Second)); p.add(2, at(4*time.Second)) }, 5 * time.Second, 9 * time.Second, false},
		{"not longer than the session", ttl, func(p *pending) { p.add(1, at(0)); p.answered(1, at(10*time.Second)); p.add(2, at(11*time.Second)) }, 12 * time.Second, ttl, false},
		{"slow answers of the past", ttl, func(p *pending) {
			p.add(1, at(0))
			p.answered(1, at(10*time.Second))
			for range 100 {
				p.add(2, at(0))
				p.answered(2, at(1))
			}
			p.add(3, at(0))
		}, 0, 5 * time.Second, false},
		{"a ping is answered, a request is not", ttl, func(p *pending) { p.add(1, at(0)); p.add(-2, at(5*time.Second)); p.answered(-2, at(6*time.Second)) }, 6 * time.Second, 5 * time.Second, false},
		{"a request is not answered ever", ttl, func(p *pending) { p.add(1, at(0)); p.add(-2, at(15*time.Second)); p.answered(-2, at(16*time.Second)) }, 16 * time.Second, 0, true},
		{"two pings", ttl, func(p *pending) { p.add(-2, at(0)); p.add(-2, at(14*time.Second)); p.answered(-2, at(15*time.Second)) }, 16 * time.Second, ttl, false},
		{"an answer to nothing", ttl, func(p *pending) { p.answered(-1, at(0)) }, time.Hour, 0, false},
	} {
		p := &pending{ttl: tt.ttl}
		tt.do(p)
		until, err := p.until(at(tt.now))
		var got time.Duration
		if !until.IsZero() {
			got = until.Sub(at(tt.now))
		}
		if (err != nil) != tt.dead || got != tt.want {
			t.Errorf("%s: silence for %v, %v; want %v, dead: %t", tt.name, got, err, tt.want, tt.dead)
		}
	}
}
