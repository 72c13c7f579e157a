package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Source is where IDs come from: a text with one ID a line, or a CSV.
type Source struct {
	Name string // for messages
	Size int64  // in bytes; negative: unknown
	// Open begins to read the source. It is called a second time, to find the lines of duplicates, if
	// Again is true.
	Open  func() (io.ReadCloser, error)
	Again bool
}

// Place is where an ID stands.
type Place struct {
	Source string `json:"source"`
	Line   int64  `json:"line"` // from 1 on
}

// String returns the place in the form in which compilers print one.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Source, p.Line) }

// Format says how a source is to be read.
type Format struct {
	// Column is the name of a column of a CSV with a header; empty: one ID a line.
	Column string
	// Digits says that digits alone, without a leading zero, are a decimal number.
	Digits bool
	// Parse returns the number that any other text stands for.
	Parse func(text string) (uint64, error)
}

// longestLine is how long a line, or a record of a CSV, may be, in bytes.
const longestLine = 1 << 20

// readers are called while a source is read.
type readers struct {
	number func(v uint64, line int64) error // an error ends the reading
	bad    func(err error, line int64)      // a line that holds no ID
	passed func(bytes int)                  // so many more bytes were read
}

// read reads a source until it ends, ctx does, or the reader of numbers returns an error.
func (f Format) read(ctx context.Context, src Source, to readers) (err error) {
	r, err := src.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	//mutant:verify-waits
	in := &interruptible{ctx: ctx, r: r, passed: to.passed, reads: make(chan readResult, 1)}
	if f.Column != "" {
		return f.readCSV(in, src.Name, to)
	}
	return f.readLines(in, src.Name, to)
}

// interruptible is a reader that fails as soon as ctx ends, also while a pipe or a terminal gives
// nothing.
type interruptible struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the call that makes it
	r      io.Reader
	passed func(int)
	reads  chan readResult
}

type readResult struct {
	n   int
	err error
}

// Read implements io.Reader. After it has failed, b may still be written to.
func (i *interruptible) Read(b []byte) (int, error) {
	go func() {
		n, err := i.r.Read(b)
		i.reads <- readResult{n, err}
	}()
	select {
	case got := <-i.reads:
		i.passed(got.n)
		return got.n, got.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// byteOrderMark begins texts that some programs write.
const byteOrderMark = "\ufeff"

// readLines reads one ID a line. Empty lines are left out.
func (f Format) readLines(r io.Reader, name string, to readers) error {
	in := bufio.NewReaderSize(r, longestLine)
	for line := int64(1); ; line++ {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%s: line %d is longer than %d bytes; is it a text with one ID a line?", name,
				line, longestLine)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte(byteOrderMark))
		}
		if werr := f.take(text, line, to); werr != nil {
			return werr
		}
		if err != nil {
			return nil //nolint:nilerr // it is the end
		}
	}
}

// take hands on the number that a text stands for, without the blanks around it. Zeros, with which
// a crash can fill a file, are no blanks.
func (f Format) take(text []byte, line int64, to readers) error {
	if text = bytes.Trim(text, " \n\r\t"); len(text) == 0 {
		return nil
	}
	if f.Digits {
		if v, ok := decimal(text); ok {
			return to.number(v, line)
		}
	}
	v, err := f.Parse(string(text))
	if err != nil {
		to.bad(err, line)
		return nil
	}
	return to.number(v, line)
}

// decimal reads the usual case: up to 19 digits, of which the first is not 0.
func decimal(text []byte) (v uint64, ok bool) {
	if len(text) > 19 || text[0] == '0' {
		return 0, false
	}
	for _, c := range text {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + uint64(d)
	}
	return v, v < 1<<63
}
