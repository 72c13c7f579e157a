// Package clocktest has clocks for tests: [Manual] stands still until it is
// moved, [Shifted] runs with time.Now and can be stepped. Both can go backward,
// and both are safe for concurrent use.
package clocktest
