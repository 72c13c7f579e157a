package zk

// Mark is for tests that write nodes as another driver of this kind would.
var Mark = mark

// Highest is the highest number of a transaction that c has seen.
func Highest(c *Coordinator) int64 { return c.memory.sight().highest }

// Pinged is the answer to a ping of the session of a token, with the number of a
// transaction.
func Pinged(c *Coordinator, token string, zxid int64) {
	c.mu.Lock()
	inc := c.incarnations[token]
	c.mu.Unlock()
	inc.turn <- struct{}{}
	defer func() { <-inc.turn }()
	inc.session.saw(zxid, false)
}

// Incarnations is how many tokens c keeps something of.
func Incarnations(c *Coordinator) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.incarnations)
}
