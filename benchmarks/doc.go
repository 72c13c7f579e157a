// Package benchmarks measures the generator, the forms of IDs and the coordinators,
// beside bare baselines in the same run.
//
//	go test -run '^$' -bench . ./benchmarks
//
// Machines are noisy and differ; the ratio of two figures of one run is what a reader
// can rely on. Names are in the form that benchstat reads: key=value.
//
// Two layouts stand for two questions. With 41/4/18 no code reaches the ceiling of
// 262 million IDs a second, so the code is what is measured. With the default layout,
// 41/10/12, everything does: 4096 IDs a millisecond, 244 ns each. There the metric
// "ceiling" says which share of it was reached: 1 means that no generator of this
// layout can be faster, and what differs is the processor time, cpu-ns/id. (The share
// of a short run is more than 1, because the first millisecond was not waited for.)
//
// benchmarks/peers, a module of its own, has other generators and the comparison with
// them; docs/performance.md says how to read all of it.
package benchmarks
