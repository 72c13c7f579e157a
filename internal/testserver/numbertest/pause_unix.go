//go:build unix

package numbertest

import "time"

// pause stops a taker for a time, in the middle of whatever it does.
func (w *storm) pause(p *taker, d time.Duration) {
	w.Helper()
	p.Freeze(w)
	w.wait(d)
	p.Thaw(w)
}
