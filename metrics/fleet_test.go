package metrics_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/promtest"
)

// series are input of promtool: values that change by a step with each scrape.
type series struct {
	name        string
	first, step float64
}

// values returns them as promtool reads them.
func values(s series, scrapes int) string {
	return fmt.Sprintf("%.0f%+.0fx%d", s.first, s.step, scrapes-1)
}

// healthyFleet are the figures of a service whose generator renews a window every so often, and of
// its tags.
func healthyFleet(interval time.Duration, window, renewEvery float64) []series {
	const generator, tag = `{job="ids", instance="a:1", generator="orders"`,
		`{job="ids", instance="a:1", tag="orders"`
	s := interval.Seconds()
	return []series{
		{`up{job="ids", instance="a:1"}`, 1, 0},
		{`unalike_ready` + generator + `}`, 1, 0},
		// the next one comes in a moment
		{`unalike_last_renewal_timestamp_seconds` + generator + `, stripe="0"}`, -renewEvery, s},
		{`unalike_window_left_seconds` + generator + `, stripe="0"}`, window - renewEvery, 0},
		{`unalike_renewal_failing` + generator + `, stripe="0"}`, 0, 0},
		{`unalike_ids_issued_total` + generator + `}`, 0, 1000 * s},
		{`unalike_ceiling_ids_per_second` + generator + `}`, 4096000, 0},
		{`unalike_errors_total` + generator + `, kind="window_ended"}`, 3, 0},
		{`unalike_rollbacks_total` + generator + `}`, 0, 0},
		{`unalike_state_mark_left_seconds` + generator + `, stripe="0"}`, 2, 0},
		{`unalike_layout_expires_timestamp_seconds` + generator + `}`, 2e9, 0},
		{`unalike_worker_ids` + generator + `, state="held"}`, 50, 0},
		{`unalike_worker_ids` + generator + `, state="free"}`, 974, 0},
		{`unalike_store_ready{job="ids", instance="a:1"}`, 1, 0},
		{`unalike_segment_ready` + tag + `}`, 1, 0},
		{`unalike_segment_left` + tag + `}`, 400, 0},
		{`unalike_segment_step` + tag + `}`, 1000, 0},
		{`unalike_segment_most` + tag + `}`, 999_999, 0},
		{`unalike_segment_unused` + tag + `}`, 900_000, 0},
		{`unalike_segment_refills_total` + tag + `, result="error"}`, 3, 0},
	}
}

// sickFleet is what becomes of it when the coordinator and the store are away, and another instance
// is gone.
func sickFleet(interval time.Duration) []series {
	s := interval.Seconds()
	return append(changed(healthyFleet(interval, 30, 5), map[string]series{
		"unalike_ready{":                         {first: 0},
		"unalike_last_renewal_timestamp_seconds": {first: -60},
		"unalike_window_left_seconds":            {first: 0},
		"unalike_renewal_failing":                {first: 1},
		"unalike_errors_total":                   {step: 1000 * s},
		"unalike_ids_issued_total":               {first: 5000},
		"unalike_store_ready":                    {first: 0},
		"unalike_segment_ready":                  {first: 0},
		"unalike_segment_left":                   {first: 0},
		"unalike_segment_refills_total":          {step: s},
	}), series{`up{job="ids", instance="b:1"}`, 0, 0})
}

// wornFleet is what becomes of it when everything is about to be used up, the disk is stuck, and
// the clock steps.
func wornFleet(interval time.Duration) []series {
	s := interval.Seconds()
	return changed(healthyFleet(interval, 30, 5), map[string]series{
		"unalike_rollbacks_total":                  {step: 1},
		"unalike_ids_issued_total":                 {step: 4e6 * s},
		"unalike_state_mark_left_seconds":          {first: 0},
		"unalike_layout_expires_timestamp_seconds": {first: 1e7},
		"unalike_segment_unused":                   {first: 90_000},
		`unalike_worker_ids{job="ids", instance="a:1", generator="orders", state="free"`: {first: 3},
	})
}

// changed returns a fleet with other values for what begins with a name.
func changed(fleet []series, now map[string]series) []series {
	for i, one := range fleet {
		for name, s := range now {
			if strings.HasPrefix(one.name, name) {
				fleet[i].first, fleet[i].step = s.first, s.step
			}
		}
	}
	return fleet
}

// promtool evaluates the rules for half an hour of a fleet and compares which alerts have fired.
func promtool(t *testing.T, interval time.Duration, fleet []series, fired ...string) {
	t.Helper()
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	scrapes := int(30*time.Minute/interval) + 1
	text := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: 5s\ntests:\n  - interval: %v\n    "+
		"input_series:\n", rules, interval)
	for _, s := range fleet {
		text += fmt.Sprintf("      - {series: '%s', values: '%s'}\n", s.name, values(s, scrapes))
	}
	if len(fired) > 0 {
		text += "      - {series: 'unalike_ready{job=\"ids\", instance=\"b:1\", " +
			"generator=\"orders\"}', values: '1 stale'}\n"
	}
	text += "    promql_expr_test:\n      - expr: 'group by (alertname) " +
		"(count_over_time(ALERTS{alertstate=\"firing\"}[30m]))'\n        eval_time: 30m\n        " +
		"exp_samples:"
	for _, name := range fired {
		text += fmt.Sprintf("\n          - {labels: '{alertname=\"%s\"}', value: 1}", name)
	}
	if len(fired) == 0 {
		text += " []"
	}
	file := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules",
		file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
}

// TestFleets: at each scrape interval, no alert fires for a fleet that is well, whatever its lease
// times, and those that tell of an outage fire for one that is not.
func TestFleets(t *testing.T) {
	promtest.Need(t)
	for _, interval := range []time.Duration{5 * time.Second, 15 * time.Second, time.Minute} {
		for _, lease := range []struct{ window, renewEvery float64 }{
			{30, 5},
			{5, 1},
			{2, 1},
			{86400, 3600},
		} {
			t.Run(fmt.Sprintf("%v/healthy/%vs", interval, lease.window), func(t *testing.T) {
				t.Parallel()
				promtool(t, interval, healthyFleet(interval, lease.window, lease.renewEvery))
			})
		}
		t.Run(fmt.Sprintf("%v/sick", interval), func(t *testing.T) {
			t.Parallel()
			promtool(t, interval, sickFleet(interval), "UnalikeCoordinatorAway", "UnalikeErrors",
				"UnalikeGone", "UnalikeNotReady",
				"UnalikeRenewalsFail", "UnalikeSegmentNearlySpent", "UnalikeStoreNotReady",
				"UnalikeTagNotReady", "UnalikeWindowEnds")
		})
		t.Run(fmt.Sprintf("%v/worn", interval), func(t *testing.T) {
			t.Parallel()
			promtool(t, interval, wornFleet(interval), "UnalikeCeilingNear", "UnalikeClockRollback",
				"UnalikeStateFileStuck", "UnalikeTagNearlyUsedUp", "UnalikeTimeBitsEnd",
				"UnalikeWorkerIDsNearlyUsed")
		})
	}
}
