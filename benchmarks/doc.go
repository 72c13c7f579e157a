// Package benchmarks measures the generator beside bare baselines in the same run.
//
//	go test -bench . -benchtime 5s ./benchmarks
//
// Machines are noisy and differ; the ratio of two figures of one run is what a
// reader can rely on. Every benchmark reports ids/s and, where the layout's ceiling
// is what it runs into, the share of the ceiling that it reaches: 1 means that no
// generator of this layout can be faster, whatever its code.
package benchmarks
