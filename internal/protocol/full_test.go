package protocol

import (
	"testing"
	"time"
)

// TestLeaseEnds: when a lease ends that is not renewed, and when its holder was seen last.
func TestLeaseEnds(t *testing.T) {
	const second = 1_000_000
	for _, tt := range []struct {
		name         string
		renewed, now int64
		left         time.Duration // negative: the back end does not tell
		want, seen   int64
	}{
		{"that is reckoned", 95, 100, -1, 105, 95},
		{"the servers were away, and it begins anew", 95, 150, -1, 160, 0},
		{"that is told", 95, 100, 7 * time.Second, 107, 95},
	} {
		l := Lease{Renewed: tt.renewed * second, TTL: 10 * time.Second, Left: tt.left}
		end, seen := l.ends(Time(tt.now * second))
		if end.Unix() != tt.want || seen.IsZero() != (tt.seen == 0) || tt.seen != 0 &&
			seen.Unix() != tt.seen {
			t.Errorf("%s: it ends at %v and was seen at %v; want %d and %d", tt.name, end, seen, tt.want,
				tt.seen)
		}
	}
}
