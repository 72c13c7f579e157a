// Package proctest runs servers for tests as processes of their own, which can be
// frozen and killed, and which end with the test, also if the test is killed. It
// also says what happens where a server that a test needs is not installed.
package proctest
