package stage

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// screen is what jobs that run side by side print on. On a terminal, its last line shows how far each of them is.
type screen struct {
	out     io.Writer
	columns int // of the terminal; 0: it is none

	mu    sync.Mutex
	jobs  []*progress // with something to show, in the order in which they have begun
	texts map[*progress]string
	shown bool // the last line is there, and is to be replaced
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, texts: map[*progress]string{}}
	if f, ok := out.(*os.File); ok {
		s.columns, _, _ = term.GetSize(int(f.Fd())) // what is no terminal has none
	}
	return s
}

// Write implements [io.Writer]. What is written consists of whole lines, which stay.
func (s *screen) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(lines), s.print(lines)
}

// show changes what the last line says of a job; empty: nothing.
func (s *screen) show(p *progress, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[p] = text; text == "" {
		delete(s.texts, p)
		s.jobs = slices.DeleteFunc(s.jobs, func(other *progress) bool { return other == p })
	} else if !slices.Contains(s.jobs, p) {
		s.jobs = append(s.jobs, p)
	}
	_ = s.print(nil) // nobody looks then
}

// print writes lines in the place of the last one, and that below them. The lock is held.
func (s *screen) print(lines []byte) error {
	var b bytes.Buffer
	if s.shown {
		b.WriteString("\r\033[K")
	}
	b.Write(lines)
	var all []string
	for _, p := range s.jobs {
		all = append(all, s.texts[p])
	}
	last := strings.Join(all, " | ")
	if s.columns > 0 && len(last) >= s.columns {
		last = last[:s.columns-1] // one that is longer would be two
	}
	b.WriteString(last)
	s.shown = last != ""
	if b.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(b.Bytes())
	return err
}
