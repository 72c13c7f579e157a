// Package redistest runs real Redis servers for tests: a single one, a primary with a
// replica and a Sentinel, or a Cluster of three. They are processes of their own,
// which can be frozen and killed. They listen on loopback, keep their data in folders
// of the test, are silent, and end with the test, also if it is killed.
package redistest
