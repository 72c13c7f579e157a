package client

import "github.com/unalike-id/unalike/clock"

// StartAt has the client ask that server first.
func (c *Client) StartAt(i int) { c.turn = i }

// SetClock has it tell the age of IDs by another clock.
func (c *Client) SetClock(clock clock.Clock) { c.clock = clock }
