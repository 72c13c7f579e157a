package core

import (
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/spelling"
)

// layoutForm is the example that errors about the text form print.
const layoutForm = "time/worker/sequence bits/unit/epoch, for example " +
	"41/10/12/1ms/2024-01-01T00:00:00Z"

// namedLayouts are the layouts that have a name in [ParseLayout].
var namedLayouts = []struct {
	name   string
	layout func() Layout
}{
	{"default", DefaultLayout},
	{"twitter", TwitterLayout},
	{"javascript", JavaScriptLayout},
}

// LayoutNames returns the names that [ParseLayout] knows.
func LayoutNames() []string {
	names := make([]string, len(namedLayouts))
	for i, n := range namedLayouts {
		names[i] = n.name
	}
	return names
}

// String returns the layout's fingerprint: the three widths, the unit and the
// epoch, for example 41/10/12/1ms/2024-01-01T00:00:00Z. Two layouts are the same
// exactly if their fingerprints are. The unit is printed as [time.Duration] prints
// it, the epoch in UTC, with milliseconds only if they are not 0.
func (l Layout) String() string {
	b := make([]byte, 0, 48)
	for _, bits := range [...]uint8{l.TimeBits, l.WorkerBits, l.SequenceBits} {
		b = append(strconv.AppendUint(b, uint64(bits), 10), '/')
	}
	b = append(append(b, l.Unit.String()...), '/')
	return string(append(b, formatEpoch(l.Epoch)...))
}

// formatEpoch prints whole seconds without a fraction and whole milliseconds with
// three digits. More digits appear only in errors about them.
func formatEpoch(t time.Time) string {
	t = t.UTC()
	switch ns := t.Nanosecond(); {
	case ns == 0:
		return t.Format("2006-01-02T15:04:05Z")
	case ns%int(time.Millisecond) == 0:
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	return t.Format("2006-01-02T15:04:05.000000000Z")
}

// ParseLayout returns the layout that s describes: a name (default, twitter or
// javascript) or a fingerprint in exactly the form that [Layout.String] prints. The
// result passes [Layout.Validate]. Errors wrap [ErrInvalidLayout] and say which
// part is wrong and what is allowed.
func ParseLayout(s string) (Layout, error) {
	for _, n := range namedLayouts {
		if s == n.name {
			return n.layout(), nil
		}
	}
	parts := strings.SplitN(s, "/", 5)
	if len(parts) != 5 {
		names := LayoutNames()
		return Layout{}, invalidLayout("%.80q is neither a name (%s) nor of the form %s%s", s,
			strings.Join(names, ", "), layoutForm, spelling.DidYouMean(s, names))
	}
	var l Layout
	for i, field := range []struct {
		name string
		bits *uint8
	}{{"time bits", &l.TimeBits}, {"worker bits", &l.WorkerBits}, {"sequence bits", &l.SequenceBits}} {
		n, err := strconv.ParseUint(parts[i], 10, 8)
		if err != nil || n > maxBits {
			return Layout{}, invalidLayout("the %s in %.80q are %.80q; they are a number from 0 to %d",
				field.name, s, parts[i], maxBits)
		}
		*field.bits = uint8(n)
	}
	var err error
	if l.Unit, err = time.ParseDuration(parts[3]); err != nil {
		return Layout{}, invalidLayout(
			"the unit in %.80q is %.80q; it is a duration of whole milliseconds, for example 1ms or 10ms", s,
			parts[3])
	}
	if l.Epoch, err = time.Parse(time.RFC3339Nano, parts[4]); err != nil {
		return Layout{}, invalidLayout("the epoch in %.80q is %.80q; it is a moment in UTC, for example "+
			"2024-01-01T00:00:00Z", s, parts[4])
	}
	l.Epoch = l.Epoch.UTC()
	if err := l.Validate(); err != nil {
		return Layout{}, err
	}
	// A fingerprint has one spelling, so that comparing texts compares layouts.
	if canonical := l.String(); canonical != s {
		return Layout{}, invalidLayout("%q has the value of %q; write it in that form", s, canonical)
	}
	return l, nil
}

// MarshalText returns the fingerprint, or an error if the layout is not valid.
func (l Layout) MarshalText() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText sets l to the layout that [ParseLayout] returns for text. After an
// error l is unchanged.
func (l *Layout) UnmarshalText(text []byte) error {
	parsed, err := ParseLayout(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
