package verify

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readCSV reads a column.
func (f Format) readCSV(r io.Reader, name string, to readers) error {
	records := &limited{r: r}
	in := csv.NewReader(bufio.NewReaderSize(records, 1<<18))
	in.ReuseRecord = true
	records.begin()
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty; the first line of a CSV names its columns, and one has to be %q",
			name, f.Column)
	}
	if err != nil {
		return fmt.Errorf("%s: the first line, which names the columns: %w", name, err)
	}
	column, err := f.find(header)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	columns := len(header)
	for last := 1; ; {
		records.begin()
		record, err := in.Read()
		damage := (*csv.ParseError)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &damage):
			last = damage.Line
			to.bad(describeDamage(damage, len(record), columns), int64(damage.StartLine))
			continue
		case err != nil:
			return fmt.Errorf("%s: the record after line %d: %w", name, last, err)
		}
		last, _ = in.FieldPos(column)
		if err := f.take([]byte(record[column]), int64(last), to); err != nil {
			return err
		}
	}
}

// find returns the index of the column among those that the header names.
func (f Format) find(header []string) (int, error) {
	header[0] = strings.TrimPrefix(header[0], byteOrderMark)
	found := -1
	for i, name := range header {
		if name != f.Column {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("columns %d and %d are both called %q; give them different names", found+1,
				i+1, f.Column)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("there is no column %q; the first line names the columns, separated by "+
			"commas, and they are %q", f.Column, header)
	}
	return found, nil
}

// describeDamage says what is wrong with a record.
func describeDamage(err *csv.ParseError, fields, columns int) error {
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("the record has %d fields; the first line has %d", fields, columns)
	}
	return fmt.Errorf(`damaged record: %w; a field with quotes, commas or line ends has to stand in `+
		`quotes, with "" for each quote in it`, err.Err)
}

// limited is a reader that bounds how much is read for one record: a quote that does not end would
// take it all.
type limited struct {
	r    io.Reader
	left int
}

// begin begins a record.
func (l *limited) begin() { l.left = longestLine }

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, fmt.Errorf("it is longer than %d bytes; is a quote missing?", longestLine)
	}
	n, err := l.r.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}
