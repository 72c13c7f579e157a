package clock

import (
	"os"
	"strings"
	"sync"
)

// counter reads the processor's time stamp counter, in cycles of 1 ns or less.
func counter() uint64

// counterTrusted tells whether the counter is one clock for all processors, and
// goes on at one rate. The kernel finds that out and watches over it; if its own
// clock is that counter, then so it is.
var counterTrusted = sync.OnceValue(func() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc"
})
