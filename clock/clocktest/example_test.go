package clocktest_test

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
)

// A test moves a clock that otherwise stands still. Whoever waits is woken.
func ExampleManual() {
	c := clocktest.NewManual(time.Date(2026, 5, 17, 9, 30, 0, 0, time.UTC))
	var waits clock.Alarmer = c
	ring, stop := waits.Alarm(c.Time().Add(time.Second).UnixMicro())
	defer stop()
	c.Advance(time.Second)
	<-ring
	fmt.Println(c.Time().Format(time.TimeOnly))
	// Output: 09:30:01
}

// A test steps a clock that runs.
func ExampleShifted() {
	c := clocktest.NewShifted(time.Now())
	before := c.Time()
	c.Step(-time.Hour)
	fmt.Println(c.Time().Before(before))
	// Output: true
}
