package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/verify"
)

// countValue is a flag for a positive number.
type countValue int64

func (v *countValue) String() string { return strconv.FormatInt(int64(*v), 10) }
func (*countValue) Type() string     { return "N" }

// Set implements pflag.Value.
func (v *countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("a whole number from 1 to %d is needed", int64(math.MaxInt64))
	}
	*v = countValue(n)
	return nil
}

// durationValue is a flag for a positive duration; 0: not given.
type durationValue time.Duration

func (*durationValue) Type() string { return "DURATION" }

func (v *durationValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Set implements pflag.Value.
func (v *durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("a positive duration with a unit is needed, for example 90s or 1h30m")
	}
	*v = durationValue(d)
	return nil
}

// minInterval keeps a watch from being a load on its coordinator.
const minInterval = 100 * time.Millisecond

// intervalValue is a flag for how often something is done.
type intervalValue time.Duration

func (*intervalValue) Type() string     { return "DURATION" }
func (v *intervalValue) String() string { return time.Duration(*v).String() }

// Set implements pflag.Value.
func (v *intervalValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < minInterval {
		return fmt.Errorf("a duration of at least %v is needed, for example 2s", minInterval)
	}
	*v = intervalValue(d)
	return nil
}

// timeValue is a flag for a moment; the zero time: not given.
type timeValue struct{ time.Time }

func (*timeValue) Type() string { return "TIME" }

func (v *timeValue) String() string {
	if v.IsZero() {
		return ""
	}
	return v.Format(time.RFC3339Nano)
}

// Set implements pflag.Value.
func (v *timeValue) Set(s string) error {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() < 0 {
		return errors.New("a moment from 1970 on is needed, in RFC 3339, for example " +
			"2026-05-17T09:30:00Z")
	}
	v.Time = t
	return nil
}

// workersValue is a flag for a range of worker IDs.
type workersValue struct {
	given       bool
	first, last int
}

func (*workersValue) Type() string { return "FIRST-LAST" }

func (v *workersValue) String() string {
	if !v.given {
		return ""
	}
	return fmt.Sprintf("%d-%d", v.first, v.last)
}

// Set implements pflag.Value.
func (v *workersValue) Set(s string) error {
	from, to, ok := strings.Cut(s, "-")
	first, err1 := strconv.ParseUint(from, 10, 31)
	last, err2 := strconv.ParseUint(to, 10, 31)
	if !ok || err1 != nil || err2 != nil || first > last {
		return errors.New("two worker IDs are needed, the lower one first, for example 0-511")
	}
	*v = workersValue{true, int(first), int(last)}
	return nil
}

// memoryValue is a flag for a number of bytes.
type memoryValue int64

func (*memoryValue) Type() string     { return "SIZE" }
func (v *memoryValue) String() string { return fmt.Sprintf("%dMiB", int64(*v)>>20) }

// Set implements pflag.Value.
func (v *memoryValue) Set(s string) error {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30} {
		number, ok := strings.CutSuffix(s, unit)
		n, err := strconv.ParseInt(number, 10, 32)
		if size := n << shift; ok && err == nil && size >= verify.LeastMemory &&
			size <= verify.MostMemory {
			*v = memoryValue(size)
			return nil
		}
	}
	return fmt.Errorf("a size from %dMiB to %dMiB is needed, for example 512MiB or 2GiB",
		verify.LeastMemory>>20, int64(verify.MostMemory)>>20)
}

// workerValue reads a worker ID in decimal.
func workerValue(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, usageError{fmt.Errorf("worker ID %q: a whole number from 0 to %d is needed", s,
			math.MaxInt32)}
	}
	return int(n), nil
}

// choiceValue is a flag for one of several words.
type choiceValue struct {
	value   string
	choices []string
	kind    string
}

func (v *choiceValue) String() string { return v.value }
func (v *choiceValue) Type() string   { return v.kind }

// Set implements pflag.Value.
func (v *choiceValue) Set(s string) error {
	if !slices.Contains(v.choices, s) {
		return errors.New("it is one of " + strings.Join(v.choices, ", "))
	}
	v.value = s
	return nil
}

// layoutValue is a flag for a layout.
type layoutValue struct{ core.Layout }

func (*layoutValue) Type() string { return "LAYOUT" }

// Set implements pflag.Value.
func (v *layoutValue) Set(s string) (err error) {
	v.Layout, err = core.ParseLayout(s)
	return err
}

// addLayoutFlag gives c the flag --layout.
func addLayoutFlag(c *cobra.Command, v *layoutValue) {
	v.Layout = core.DefaultLayout()
	c.Flags().Var(v, "layout", "layout: "+strings.Join(core.LayoutNames(), ", ")+
		", or a fingerprint as 'unalike layout' prints it")
	complete(c, "layout", core.LayoutNames())
}

// addFormatFlag gives c the flag --format for one of v.choices.
func addFormatFlag(c *cobra.Command, v *choiceValue, what string) {
	c.Flags().Var(v, "format", what+": "+strings.Join(v.choices, ", "))
	complete(c, "format", v.choices)
}

// complete makes the shell offer words for a flag.
func complete(c *cobra.Command, flag string, words []string) {
	// The error is about a flag that does not exist or that has words already.
	if err := c.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		c.PrintErrln("unalike: completion of --"+flag+":", err)
	}
}
