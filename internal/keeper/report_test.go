package keeper_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// logged starts a keeper with a log.
func logged(t *testing.T) (*rig, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	r := start(t, 1, func(cfg *keeper.Config) { cfg.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	return r, log
}

// wantLines checks that the log has these lines in this order, each as often as it is
// named, of those that begin an episode or end it.
func wantLines(t *testing.T, log *bytes.Buffer, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(log.String()) {
		for _, known := range []string{"renewal failed", "issue window ended", "can be issued again", "renewed again", "not acquired", "lease lost", "worker ID acquired"} {
			if strings.Contains(line, known) {
				got = append(got, known)
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the log tells %v\nwant %v\n%s", got, want, log)
	}
}

func TestOutageIsToldFromItsBeginningToItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log := logged(t)
		r.fake.Outage(true)
		pass(2 * horizon)
		wantLines(t, log, "worker ID acquired", "renewal failed", "issue window ended")
		r.fake.Outage(false)
		pass(horizon)
		wantLines(t, log, "worker ID acquired", "renewal failed", "issue window ended", "renewed again", "can be issued again")
	})
}

func TestShortOutageIsNoEndOfTheWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log := logged(t)
		r.fake.Outage(true)
		pass(horizon / 2)
		r.fake.Outage(false)
		pass(horizon)
		wantLines(t, log, "worker ID acquired", "renewal failed", "renewed again")
	})
}

// TestAnotherCauseIsTold: while a back end is down it says nothing; when it is back and
// refuses, somebody has to know why and until when.
func TestAnotherCauseIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log := logged(t)
		r.fake.Outage(true)
		pass(2 * every)
		until := time.Now().Add(time.Hour).UTC()
		r.fake.Fail(coordtest.Renew, &coord.QuarantinedError{Namespace: "orders", Until: until}, 1000)
		r.fake.Outage(false)
		pass(2 * every)
		wantLines(t, log, "worker ID acquired", "renewal failed", "renewal failed")
		if want := until.Format("15:04:05"); strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not say %s once:\n%s", want, log)
		}
	})
}
