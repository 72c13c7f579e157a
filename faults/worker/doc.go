// Package worker runs generators, or sequences of plain numbers, in a process of its own, which
// can be killed, frozen and given another clock. It writes down every ID that it issues in
// journals, and what happens to its generators as events on its standard output.
//
// The process is the same program, started again: [Main] becomes a worker where the environment
// says so.
package worker
