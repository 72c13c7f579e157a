package verify

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Source is where IDs come from, one a line, or a column of a CSV.
type Source struct {
	Name string // for messages
	// Open begins to read it. It is called a second time to say where the IDs stand that
	// were found, if Again is true.
	Open  func() (io.ReadCloser, error)
	Again bool
}

// Place is where an ID stands.
type Place struct {
	Source string `json:"source"`
	Line   int64  `json:"line"` // from 1 on
}

// String returns the place as compilers print one.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.Source, p.Line) }

// Format says how a source is to be read.
type Format struct {
	// Column is the name of a column of a CSV with a header; empty: one ID a line.
	Column string
	// Digits says that digits alone, without a leading zero, are decimal.
	Digits bool
	// Parse returns the number that a text stands for.
	Parse func(text string) (uint64, error)
}

// longestLine bounds what is taken for a line.
const longestLine = 1 << 20

// readers are told of each number, and of what is none. An error ends the reading.
type readers struct {
	number func(v uint64, line int64) error
	bad    func(err error, line int64) error
	passed func(bytes int) // that were read; nil: nobody wants to know
}

// read reads a source until it ends, ctx does, or a reader returns an error.
func (f Format) read(ctx context.Context, src Source, to readers) (err error) {
	r, err := src.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	counted := &counter{ctx: ctx, r: r, passed: to.passed}
	if f.Column != "" {
		err = f.readCSV(counted, to)
	} else {
		err = f.readLines(counted, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	return nil
}

// counter tells how much was read, and ends with a context.
type counter struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the call that makes it
	r      io.Reader
	passed func(int)
}

func (c *counter) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	if c.passed != nil {
		c.passed(n)
	}
	return n, err
}

// readLines reads one ID a line. Empty lines are left out.
func (f Format) readLines(r io.Reader, to readers) error {
	in := bufio.NewReaderSize(r, longestLine)
	for line := int64(1); ; line++ {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d is longer than %d bytes; is it a file of IDs, one a line?", line, longestLine)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if werr := f.take(trim(text), line, to); werr != nil {
			return werr
		}
		if err != nil {
			return nil //nolint:nilerr // it is the end
		}
	}
}

// trim cuts off the end of a line, and blanks.
func trim(text []byte) []byte {
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	for len(text) > 0 && text[0] <= ' ' {
		text = text[1:]
	}
	return text
}

// take hands on what a text stands for.
func (f Format) take(text []byte, line int64, to readers) error {
	if len(text) == 0 {
		return nil
	}
	if v, ok := decimal(text); ok && f.Digits {
		return to.number(v, line)
	}
	v, err := f.Parse(string(text))
	if err != nil {
		return to.bad(err, line)
	}
	return to.number(v, line)
}

// decimal reads the usual case.
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

// readCSV reads a column.
func (f Format) readCSV(r io.Reader, to readers) error {
	in := csv.NewReader(bufio.NewReaderSize(r, 1<<18))
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it is empty; the first line of a CSV names its columns, and one is to be %q", f.Column)
	}
	if err != nil {
		return err
	}
	at := slices.IndexFunc(header, func(name string) bool { return strings.TrimPrefix(name, "\ufeff") == f.Column })
	if at < 0 {
		return fmt.Errorf("there is no column %q; the columns are %q", f.Column, header)
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := in.FieldPos(at)
		if err := f.take(trim([]byte(record[at])), int64(line), to); err != nil {
			return err
		}
	}
}
