package core

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestComposeErrors(t *testing.T) {
	l := JavaScriptLayout()
	at := l.Epoch.Add(time.Hour)
	for _, tt := range []struct {
		name             string
		layout           Layout
		at               time.Time
		worker, sequence int
		want             string
	}{
		{"worker -1", l, at, -1, 0, "core: worker ID is -1; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 31"},
		{"worker 32", l, at, 32, 0, "core: worker ID is 32; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 31"},
		{"sequence -1", l, at, 0, -1, "core: sequence is -1; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 127"},
		{"sequence 128", l, at, 0, 128, "core: sequence is 128; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 127"},
		{"before the epoch", l, l.Epoch.Add(-time.Nanosecond), 0, 0, "core: time 2023-12-31T23:59:59.999999999Z is before the layout's epoch 2024-01-01T00:00:00Z"},
		{"long before", l, time.Time{}, 0, 0, "core: time 0001-01-01T00:00:00Z is before the layout's epoch"},
		{"year -300000", l, time.Date(-300000, 1, 1, 0, 0, 0, 0, time.UTC), 0, 0, "is before the layout's epoch"},
		{"at the end", l, l.Expires(), 0, 0, "core: time 2093-09-06T15:47:35.552Z is not before 2093-09-06T15:47:35.552Z, when the layout's 41 time bits are spent"},
		{"year 300000", l, time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC), 0, 0, "time bits are spent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, err := tt.layout.Compose(tt.at, tt.worker, tt.sequence)
			if err == nil || !strings.Contains(err.Error(), tt.want) || id != 0 {
				t.Errorf("got %d, %v\nwant %q", id, err, tt.want)
			}
		})
	}
	if id, err := (Layout{}).Compose(at, 0, 0); !errors.Is(err, ErrInvalidLayout) || id != 0 {
		t.Errorf("zero layout: %d, %v", id, err)
	}
	if got := (Layout{}).Decompose(12345); got != (Parts{}) {
		t.Errorf("zero layout: %v", got)
	}
}

// TestComposeRoundsDown holds that a time anywhere in a tick gives that tick.
func TestComposeRoundsDown(t *testing.T) {
	l := DefaultLayout()
	l.Unit, l.TimeBits = 10*time.Millisecond, 38
	start, err := l.Compose(l.Epoch.Add(990*time.Millisecond), 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{1, time.Millisecond, 10*time.Millisecond - 1} {
		if got, err := l.Compose(l.Epoch.Add(990*time.Millisecond+d), 3, 4); err != nil || got != start {
			t.Errorf("%v later: %d, %v; want %d", d, got, err, start)
		}
	}
	last := l.Expires().Add(-1)
	id, err := l.Compose(last, l.Workers()-1, l.SequencesPerTick()-1)
	if err != nil || id != l.MaxID() {
		t.Errorf("the last ID is %d, %v; want %d", id, err, l.MaxID())
	}
}

// TestDecomposeSaturates: a tick that no clock can read has a time nevertheless.
func TestDecomposeSaturates(t *testing.T) {
	l := testLayout(62, 0, 1)
	l.Unit = time.Hour
	if got := l.Decompose(l.MaxID()); !got.Time.Equal(l.Expires()) || got.Sequence != 1 {
		t.Errorf("got %v", got)
	}
}
