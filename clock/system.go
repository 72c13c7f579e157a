package clock

// System returns the operating system's wall clock.
//
// It keeps the wall-clock truth: a step by an operator or NTP and the time spent in
// suspend show at once, because nothing is derived from the monotonic clock. Its
// resolution is a microsecond or what the operating system gives, if that is
// coarser. A reading does not allocate and does not block. It implements [Fresher].
//
// On linux/amd64 it reads the kernel's clock page with gettimeofday, which costs
// about half of time.Now, because time.Now reads a second, monotonic clock as
// well. Where the kernel keeps time with the processor's time stamp counter, it
// reads the page no more than some 100,000 times a second: a reading that is less
// than 2^15 cycles old, at most 33 us, is returned again, and the counter alone
// tells how old it is. Elsewhere every reading is new.
//
// A consequence of reading the page is that it does not follow the fake time of a
// testing/synctest bubble: use clocktest.Shifted there.
func System() Clock {
	if counterTrusted() {
		return counted{}
	}
	return system{}
}

// system reads the wall clock with every call.
type system struct{}

func (system) UnixMicro() int64      { return wallMicro() }
func (system) FreshUnixMicro() int64 { return wallMicro() }

// String names the clock in logs and errors.
func (system) String() string { return "system" }

// counted reads the wall clock only if the last reading of any caller is not
// recent.
type counted struct{ system }

// latest is the last reading, shared by all.
var latest recent

func (c counted) UnixMicro() int64 {
	if micro, ok := latest.load(counter); ok {
		return micro
	}
	return c.FreshUnixMicro()
}

func (counted) FreshUnixMicro() int64 { return latest.take(counter, wallMicro) }
