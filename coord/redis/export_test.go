package redis

import "time"

// SetMaxHorizon shortens what a test has to wait for after a loss. It is for before
// the coordinator is used.
func (c *Coordinator) SetMaxHorizon(d time.Duration) { c.maxHorizon = d }

// Commands are the rights that a user of Redis needs.
func Commands() []string { return commands }

// SetSkewBound sets a skew bound that is too short for anything but a test.
func (c *Coordinator) SetSkewBound(d time.Duration) { c.opts.SkewBound = d }
