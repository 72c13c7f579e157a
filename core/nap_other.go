//go:build !linux

package core

import "time"

// nap sleeps for about d.
func nap(d time.Duration) { time.Sleep(d) }
