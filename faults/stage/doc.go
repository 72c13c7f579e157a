// Package stage runs fault scenarios: what happens to generators on real servers, and the verdict
// of package verify on all the IDs that they have issued meanwhile. It has the time budget of
// each scenario, the results as lines of JSON from which an interrupted run can go on, and the
// report.
package stage
