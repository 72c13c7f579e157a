// Package drivertest holds what the tests of every driver need: requests, other processes,
// URLs that are refused, and crowds of starters.
// What a driver must do is said by coord/coordtest; this package is about how it is
// done on a real back end.
package drivertest
