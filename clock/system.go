package clock

// System returns the operating system's wall clock, read anew on every call.
//
// It guarantees the wall-clock truth: a step by an operator or NTP and the time
// spent in suspend show in the very next reading, because nothing is derived
// from the monotonic clock. Its resolution is a microsecond or what the
// operating system gives, if that is coarser. A reading does not allocate and
// does not block.
//
// On linux/amd64 it reads the kernel's clock page with gettimeofday, which costs
// about half of time.Now, because time.Now reads a second, monotonic clock as
// well. A consequence is that it does not follow the fake time of a
// testing/synctest bubble: use clocktest.Shifted there.
func System() Clock { return system{} }

type system struct{}

func (system) UnixMicro() int64 { return wallMicro() }

// String names the clock in logs and errors.
func (system) String() string { return "system" }
