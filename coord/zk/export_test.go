package zk

// Mark is for tests that write nodes as another driver of this kind would.
var Mark = mark

// Highest is the highest number of a transaction that c has seen.
func Highest(c *Coordinator) int64 { return c.memory.sight().highest }
