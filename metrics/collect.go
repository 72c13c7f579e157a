package metrics

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

const (
	callDurationName = "unalike_coordinator_call_duration_seconds"
	callDurationHelp = "How long calls to the coordinator took, by what was asked and what came of it."
)

// all are the descriptions that describe has made.
var all []*prometheus.Desc

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	all = append(all, d)
	return d
}

// The descriptions of all metrics. They never change.
var (
	descInfo = describe("unalike_generator_info",
		"1 for each generator, with its layout and the place of its namespace.", "generator", "layout",
		"place")
	descReady = describe("unalike_ready", "1 if the generator can issue an ID now, 0 if not.",
		"generator")
	descWorkerID = describe("unalike_worker_id",
		"The worker ID that is leased; -1 if none was yet.", "generator", "stripe")
	descGeneration = describe("unalike_generation", "How often the worker ID was granted.",
		"generator", "stripe")
	descIssued = describe("unalike_ids_issued_total", "IDs issued.", "generator")
	descErrors = describe("unalike_errors_total",
		"Calls for an ID that failed or were ended by their context, by kind.", "generator", "kind")
	descRollbacks = describe("unalike_rollbacks_total",
		"How often the clock was found to have stepped back by more than the tolerance.", "generator")
	descWindowLeft = describe("unalike_window_left_seconds",
		"For how long IDs can be issued without a further renewal by the coordinator.", "generator",
		"stripe")
	descFailing = describe("unalike_renewal_failing", "1 if the last renewal failed, 0 if not.",
		"generator", "stripe")
	descMark = describe("unalike_state_mark_left_seconds",
		"Until the high-water mark in the state file, below which IDs are issued.", "generator", "stripe")
	descRenewal = describe("unalike_last_renewal_timestamp_seconds",
		"When the lease was last renewed.", "generator", "stripe")
	descLead = describe("unalike_lead_seconds", "How far the last ID is ahead of the clock.",
		"generator", "stripe")
	descExpires = describe("unalike_layout_expires_timestamp_seconds",
		"When the time bits of the layout are spent.", "generator")
	descCeiling = describe("unalike_ceiling_ids_per_second",
		"How many IDs a second the layout has for this generator's worker IDs.", "generator")
	descWorkerIDs = describe("unalike_worker_ids", "Worker IDs of the namespace by state.",
		"generator", "state")
	_              = describe(callDurationName, callDurationHelp, "generator", "op", "result")
	descStoreReady = describe("unalike_store_ready",
		"1 if numbers of tags can be had as far as is known, 0 while the store gives none.")
	descStoreFailing = describe("unalike_store_failing",
		"1 while the store of the tags gives no numbers, with the reason.", "reason")
	descSegFailing = describe("unalike_segment_failing",
		"1 while the last refill of the tag failed, with the reason.", "tag", "reason")
	descSegReady = describe("unalike_segment_ready",
		"1 if the next number of the tag is in memory, 0 if not.", "tag")
	descSegIssued  = describe("unalike_segment_issued_total", "Numbers issued.", "tag")
	descSegLeft    = describe("unalike_segment_left", "Numbers in memory.", "tag")
	descSegStep    = describe("unalike_segment_step", "How many numbers were asked for last.", "tag")
	descSegRefills = describe("unalike_segment_refills_total",
		"Attempts to take a segment from the store, by result.", "tag", "result")
	descSegMost = describe("unalike_segment_most",
		"The largest number that the tag's column or format holds.", "tag")
	descSegUnused = describe("unalike_segment_unused",
		"Numbers that the tag's column or format has left.", "tag")
	descSegTimeLeft = describe("unalike_segment_time_left_seconds",
		"How long the numbers in memory last at the measured rate.", "tag")
)

// Describe implements prometheus.Collector.
func (m *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
	m.took.Describe(ch)
}

// Collect implements prometheus.Collector. It reads the health of everything that is shown, and
// forgets closed generators.
func (m *collector) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	sets, store := m.sets, m.store
	m.mu.Unlock()
	if store != nil {
		err := store()
		gauge(ch, descStoreReady, oneIf(err == nil))
		if err != nil {
			gauge(ch, descStoreFailing, 1, storeReason(err))
		}
	}
	shown := map[string]segment.Health{} // a tag of two sets would spoil the whole scrape
	for _, set := range sets {
		for _, h := range set() {
			if _, twice := shown[h.Tag]; !twice && !errors.Is(h.Err, segment.ErrClosed) {
				shown[h.Tag] = h
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collectTags(ch, shown)
	for name, e := range m.generators {
		h := e.g.Health()
		if h.Closed {
			delete(m.generators, name)
			delete(m.workerIDs, name)
			continue
		}
		e.calls.Collect(ch)
		e.collect(ch, name, h)
	}
	for name, byState := range m.workerIDs {
		for state, n := range byState {
			gauge(ch, descWorkerIDs, float64(n), name, state)
		}
	}
}

// collectTags shows tags, and forgets the refills of those that are not shown any more.
func (m *collector) collectTags(ch chan<- prometheus.Metric, shown map[string]segment.Health) {
	for _, h := range shown {
		m.collectTag(ch, h)
	}
	for tag := range m.refills {
		if _, ok := shown[tag]; !ok {
			delete(m.refills, tag)
			m.took.DeleteLabelValues(tag)
		}
	}
	m.took.Collect(ch)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// collect shows one generator.
func (e *generator) collect(ch chan<- prometheus.Metric, name string, h core.Health) {
	l := e.g.Layout()
	place := coord.Describe(e.g.Coordinator()).Place
	gauge(ch, descInfo, 1, name, l.String(), strings.ToValidUTF8(place, "?"))
	gauge(ch, descReady, oneIf(h.Healthy), name)
	counter(ch, descIssued, h.Issued, name)
	counter(ch, descRollbacks, h.Rollbacks, name)
	gauge(ch, descExpires, seconds(l.Expires()), name)
	gauge(ch, descCeiling, float64(l.SequencesPerTick())/l.Unit.Seconds()*float64(len(h.Workers)),
		name)
	for kind, n := range errorsByKind(h.Errors) {
		counter(ch, descErrors, n, name, kind)
	}
	for i, w := range h.Workers {
		stripe := strconv.Itoa(i)
		gauge(ch, descWorkerID, float64(w.WorkerID), name, stripe)
		gauge(ch, descGeneration, float64(w.Generation), name, stripe)
		gauge(ch, descWindowLeft, w.WindowLeft.Seconds(), name, stripe)
		gauge(ch, descFailing, oneIf(w.Failing != nil), name, stripe)
		if w.StateFile {
			gauge(ch, descMark, w.MarkLeft.Seconds(), name, stripe)
		}
		gauge(ch, descLead, w.Lead.Seconds(), name, stripe)
		if !w.LastRenewal.IsZero() {
			gauge(ch, descRenewal, seconds(w.LastRenewal), name, stripe)
		}
	}
}

// errorsByKind returns the counts by their label.
func errorsByKind(c core.ErrorCounts) map[string]uint64 {
	return map[string]uint64{
		"not_started":        c.NotStarted,
		"clock_rollback":     c.ClockRollback,
		"sequence_exhausted": c.SequenceExhausted,
		"window_not_open":    c.WindowNotOpen,
		"window_ended":       c.WindowEnded,
		"time_exhausted":     c.TimeExhausted,
		"closed":             c.Closed,
		"context_ended":      c.ContextEnded,
	}
}

// collectTag shows one tag. A scrape sees the last refill alone; there is seldom more than one
// between two scrapes.
func (m *collector) collectTag(ch chan<- prometheus.Metric, h segment.Health) {
	gauge(ch, descSegReady, oneIf(h.Healthy), h.Tag)
	counter(ch, descSegIssued, h.Issued, h.Tag)
	gauge(ch, descSegLeft, float64(h.Left), h.Tag)
	gauge(ch, descSegStep, float64(h.Step), h.Tag)
	counter(ch, descSegRefills, h.Refills, h.Tag, "ok")
	counter(ch, descSegRefills, h.Failures, h.Tag, "error")
	if h.Refills != m.refills[h.Tag] && h.Refills > 0 {
		m.refills[h.Tag] = h.Refills
		m.took.WithLabelValues(h.Tag).Observe(h.RefillTook.Seconds())
	}
	if h.Most > 0 {
		gauge(ch, descSegMost, float64(h.Most), h.Tag)
		gauge(ch, descSegUnused, float64(h.Unused), h.Tag)
	}
	if h.Failing != nil {
		gauge(ch, descSegFailing, 1, h.Tag, storeReason(h.Failing))
	}
	if h.Rate > 0 {
		gauge(ch, descSegTimeLeft, h.TimeLeft.Seconds(), h.Tag)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
