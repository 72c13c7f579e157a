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
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		at               time.Time
		worker, sequence int
		want             string
	}{
		{at, -1, 0, "core: worker ID is -1; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 31"},
		{at, 32, 0, "core: worker ID is 32; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 31"},
		{at, 0, -1, "core: sequence is -1; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 127"},
		{at, 0, 128, "core: sequence is 128; layout 41/5/7/1ms/2024-01-01T00:00:00Z allows 0 to 127"},
		{
			l.Epoch.Add(-1), 0, 0,
			"core: time 2023-12-31T23:59:59.999999999Z is before the layout's epoch 2024-01-01T00:00:00Z",
		},
		{time.Time{}, 0, 0, "core: time 0001-01-01T00:00:00Z is before the layout's epoch"},
		{year(-300000), 0, 0, "is before the layout's epoch"},
		{
			l.Expires(), 0, 0, "core: time 2093-09-06T15:47:35.552Z is not before " +
				"2093-09-06T15:47:35.552Z, when the layout's 41 time bits are spent",
		},
		{year(300000), 0, 0, "time bits are spent"},
	} {
		id, err := l.Compose(tt.at, tt.worker, tt.sequence)
		if err == nil || !strings.Contains(err.Error(), tt.want) || id != 0 {
			t.Errorf("got %d, %v\nwant %q", id, err, tt.want)
		}
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
	at := l.Epoch.Add(990 * time.Millisecond)
	want := ID(99<<22 | 3<<12 | 4)
	for _, d := range []time.Duration{0, 1, 10*time.Millisecond - 1} {
		if got, err := l.Compose(at.Add(d), 3, 4); err != nil || got != want {
			t.Errorf("%v later: %d, %v; want %d", d, got, err, want)
		}
	}
	id, err := l.Compose(l.Expires().Add(-1), l.Workers()-1, l.SequencesPerTick()-1)
	if err != nil || id != l.MaxID() {
		t.Errorf("the last ID is %d, %v; want %d", id, err, l.MaxID())
	}
}
