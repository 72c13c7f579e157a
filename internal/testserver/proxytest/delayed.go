package proxytest

import (
	"bytes"
	"io"
	"time"
)

// lateWriter passes on what is written to it when that is due.
type lateWriter struct {
	to     io.Writer
	due    func() time.Time // when something that is written now is due
	chunks chan chunk
}

// chunk is some bytes and when they are due.
type chunk struct {
	bytes []byte
	due   time.Time
}

// underWay is how many chunks may be under way before the writer has to wait. Each connection has
// room for as many, and a crowd thousands of connections.
const underWay = 2_000

func newLateWriter(to io.Writer, due func() time.Time) *lateWriter {
	return &lateWriter{to: to, due: due, chunks: make(chan chunk, underWay)}
}

// Write implements [io.Writer]. It keeps a copy of b.
func (w *lateWriter) Write(b []byte) (int, error) {
	w.chunks <- chunk{bytes.Clone(b), w.due()}
	return len(b), nil
}

// run passes on until the writer is closed. What cannot be passed on is dropped: the
// connection has ended then, which its reader notices.
func (w *lateWriter) run() {
	for c := range w.chunks {
		time.Sleep(time.Until(c.due))
		_, _ = w.to.Write(c.bytes)
	}
}

// close ends the writer; what is under way is still passed on.
func (w *lateWriter) close() { close(w.chunks) }

// due is when what comes now is passed on.
func (p *Proxy) due(d direction) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.delays[d])
}
