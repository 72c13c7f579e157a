package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// decodeOptions are the flags of decode.
type decodeOptions struct {
	layout layoutValue
	format choiceValue
	json   bool
}

// tolerance is how far ahead a clock may be that has stamped an ID whose format is recognized.
const tolerance = time.Hour

// formatAuto recognizes the format by the ID's looks.
const formatAuto = "auto"

// readable are the formats that are read.
func readable() []string { return append([]string{formatAuto}, formats()...) }

// decodeCommand returns the command that reads IDs.
func (a *app) decodeCommand() *cobra.Command {
	var o decodeOptions
	c := &cobra.Command{
		Use:   "decode ID...",
		Short: "Print the time, worker ID and sequence number of IDs",
		Long: `decode prints what IDs are made of, one a line: the ID in decimal, its time, worker
ID and sequence number, and its age, or how far it lies in the future. The argument -
reads IDs from the standard input, one a line.

The format is recognized: only digits are decimal, unless a leading zero makes that
impossible; otherwise 11 characters are base62, 13 characters base32, and what starts
with a quote or a brace is JSON. An ID in base62 or base32 that happens to have only
digits and no leading zero is taken for decimal: --format settles it.

What cannot be read is reported on the standard error output, the rest is printed,
and the exit code is 1.`,
		Example: `  unalike decode 1541815603606036480 --layout twitter
  unalike decode 1ptWyK4WgZU 1ASD13XH1F800
  unalike generate --count 3 --format json | unalike decode --json -`,
		Args:              arguments(1, math.MaxInt, "one ID or more, or - for the standard input"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if !c.Flags().Changed("layout") {
				if o.layout.v, err = a.envLayout(); err != nil {
					return err
				}
			}
			return a.decode(args, &o)
		},
	}
	addLayoutFlag(c, &o.layout)
	addFormatFlag(c, &o.format, "format of the IDs", readable()...)
	c.Flags().BoolVar(&o.json, "json", false, "print JSON objects, one a line")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag: '") {
			return fmt.Errorf("%w; IDs are never negative", err)
		}
		return suggestFlag(c, err)
	})
	return c
}

// decode prints the parts of the IDs in args.
func (a *app) decode(args []string, o *decodeOptions) error {
	out := bufio.NewWriter(a.out)
	d := decoder{decodeOptions: o, streams: a.streams, buffer: out, now: time.Now}
	for _, arg := range args {
		err := error(nil)
		if arg == "-" {
			err = d.lines()
		} else {
			err = d.line(arg, 0)
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if d.bad > 0 {
		return fmt.Errorf("%d of %d could not be decoded", d.bad, d.seen)
	}
	return nil
}

// decoder prints IDs taken apart, and reports what is not an ID.
type decoder struct {
	*decodeOptions
	streams
	buffer    *bufio.Writer // in front of out
	now       func() time.Time
	seen, bad int
}

// lines decodes the lines of the standard input. Empty ones are left out.
func (d *decoder) lines() error {
	lines := bufio.NewReader(d.in)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return fmt.Errorf("reading the standard input: %w", err)
		}
		if text := strings.TrimRight(line, "\r\n"); text != "" {
			if werr := d.line(text, n); werr != nil {
				return werr
			}
		}
		if end {
			return nil
		}
	}
}

// line prints the parts of the ID that s is, or reports that it is none, and which line
// of the input it is; 0: it is an argument. The error is one of writing.
func (d *decoder) line(s string, n int) error {
	d.seen++
	text, err := d.describe(d.buffer.AvailableBuffer(), s)
	if err != nil {
		d.bad++
		where := ""
		if n > 0 {
			where = fmt.Sprintf("line %d: ", n)
		}
		d.complain("unalike: %s%v\n", where, err)
		return nil
	}
	if _, err := d.buffer.Write(text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// describe appends the line that is printed for the ID that s is.
func (d *decoder) describe(b []byte, s string) ([]byte, error) {
	id, err := readID(s, d.format.v)
	if err != nil {
		return nil, err
	}
	if id > d.layout.v.MaxID() {
		return nil, fmt.Errorf("%s has more bits than layout %v, whose largest ID is %d; name the ID's "+
			"own layout with --layout", s, d.layout.v, d.layout.v.MaxID())
	}
	parts := d.layout.v.Decompose(id)
	age := d.now().UnixMilli() - parts.Time.UnixMilli()
	if age < -tolerance.Milliseconds() && d.format.v == formatAuto && guessed(s) {
		return nil, fmt.Errorf("%s would be an ID of %s, in the future: name its form with --format, or "+
			"its own layout with --layout; "+
			"base58 and base36 of other generators are not read", s, parts.Time.UTC().Format(timeForm))
	}
	if d.json {
		return appendJSON(b, decodedObject{
			idObject: idObject{id, newParts(parts)}, Base62: id.Base62(), Base32: id.Base32(),
			Layout: d.layout.v.String(), Future: age < 0, AgeSeconds: float64(age) / 1000,
		})
	}
	b = append(strconv.AppendInt(b, int64(id), 10), "  "...)
	b = append(appendParts(b, parts), "  "...)
	return append(appendAge(b, age), '\n'), nil
}

// decodedObject is an ID taken apart, in JSON.
type decodedObject struct {
	idObject
	Base62     string  `json:"base62"`
	Base32     string  `json:"base32"`
	Layout     string  `json:"layout"`
	Future     bool    `json:"future"`
	AgeSeconds float64 `json:"age_seconds"`
}

// appendAge says how many milliseconds ago something was, or how far it is in the
// future.
func appendAge(b []byte, milli int64) []byte {
	if milli < 0 {
		return appendSpan(append(b, "in the future by "...), -milli)
	}
	return appendSpan(append(b, "age "...), milli)
}

// describe prints milliseconds in the way people count: days from a day on.
func describe(milli int64) string { return string(appendSpan(nil, milli)) }

// appendSpan appends what describe returns. The days of an ID's time can be more than a
// time.Duration holds.
func appendSpan(b []byte, milli int64) []byte {
	const day = 24 * 60 * 60 * 1000
	rest := time.Duration(milli%day) * time.Millisecond
	if milli < 60*1000 {
		return append(b, rest.String()...)
	}
	if milli >= day {
		b = append(strconv.AppendInt(b, milli/day, 10), " days "...)
	}
	return append(b, rest.Truncate(time.Second).String()...)
}
