package zk

// Mark is for tests that write nodes as another driver of this kind would.
var Mark = mark
