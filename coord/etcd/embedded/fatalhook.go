package embedded

import (
	"fmt"
	"runtime"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// fatalHook catches what etcd does when it cannot go on: it logs with the level "fatal"
// or "panic", which ends the process, even if the log goes nowhere. A full disk is no
// reason to end the user's program. The goroutine that logged ends instead, and the
// server counts as failed.
type fatalHook struct {
	once   sync.Once
	sprung chan struct{}
	err    error // set before sprung is closed
}

func newFatalHook() *fatalHook { return &fatalHook{sprung: make(chan struct{})} }

// logger returns a logger that prints nothing.
func (t *fatalHook) logger() *zap.Logger {
	return zap.New(zapcore.NewNopCore(), zap.WithFatalHook(t), zap.WithPanicHook(t))
}

// OnWrite implements zapcore.CheckWriteHook. It does not return.
func (t *fatalHook) OnWrite(e *zapcore.CheckedEntry, fields []zapcore.Field) {
	t.spring(e.Message + causes(fields))
	runtime.Goexit() //mutant:embed-trap
}

// spring notes why etcd cannot go on, if it could so far.
func (t *fatalHook) spring(why string) {
	t.once.Do(func() {
		t.err = fmt.Errorf("etcd cannot go on: %s", why)
		close(t.sprung)
	})
}

// causes prints the errors among the fields of a log entry.
func causes(fields []zapcore.Field) string {
	var s string
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			s += ": " + err.Error()
		}
	}
	return s
}

// guarded runs f, which may spring the trap, in a goroutine of its own, and returns
// the error if it did. A panic of f springs it too: damaged data makes etcd panic.
func (t *fatalHook) guarded(f func()) error {
	returned, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				t.spring(fmt.Sprintf("it panicked: %v; its data may be damaged", p))
			}
		}()
		f()
		returned = true
	}()
	<-ended
	if returned {
		return nil
	}
	return t.err
}
