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

// value is a flag whose text is parsed.
type value[T comparable] struct {
	v     T
	kind  string // what the help calls it
	text  string
	parse func(text string) (T, error)
}

// newValue returns a flag with a default; the zero value is none.
func newValue[T comparable](kind string, v T, parse func(string) (T, error)) value[T] {
	text := ""
	if v != *new(T) {
		text = fmt.Sprint(v)
	}
	return value[T]{v, kind, text, parse}
}

func (v *value[T]) String() string { return v.text }
func (v *value[T]) Type() string   { return v.kind }

// Set implements pflag.Value.
func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		v.v, v.text = parsed, text
	}
	return err
}

type (
	countValue  = value[int64]
	spanValue   = value[time.Duration]
	timeValue   = value[time.Time]
	choiceValue = value[string]
	layoutValue = value[core.Layout]
	rangeValue  = value[*verify.WorkerRange]
)

// parseCount reads a positive number.
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("a whole number from 1 to %d is needed", int64(math.MaxInt64))
	}
	return n, nil
}

// parseSpan reads a positive duration.
func parseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("a positive duration with a unit is needed, for example 90s or 1h30m")
	}
	return d, nil
}

// minInterval keeps a watch from being a load on its coordinator.
const minInterval = 100 * time.Millisecond

// parseInterval reads how often something is done.
func parseInterval(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < minInterval {
		return 0, fmt.Errorf("a duration of at least %v is needed, for example 2s", minInterval)
	}
	return d, nil
}

// parseTime reads a moment.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Unix() < 0 {
		return t, errors.New("a moment from 1970 on is needed, in RFC 3339, for example " +
			"2026-05-17T09:30:00Z")
	}
	return t, nil
}

// parseMemory reads a number of MiB.
func parseMemory(s string) (int64, error) {
	const most = verify.MostMemory >> 20
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("a whole number of MiB from 1 to %d is needed", int64(most))
	}
	return n, nil
}

// newChoice is a flag for one of several words, of which the first is the default.
func newChoice(words ...string) choiceValue {
	return newValue("FORMAT", words[0], func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", errors.New("it is one of " + strings.Join(words, ", "))
		}
		return s, nil
	})
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

// parseWorkers reads a range of worker IDs.
func parseWorkers(s string) (*verify.WorkerRange, error) {
	from, to, _ := strings.Cut(s, "-")
	first, err := workerValue(from)
	last, wrong := workerValue(to)
	if err != nil || wrong != nil || first > last {
		return nil, errors.New("two worker IDs are needed, the lower one first, for example 0-511")
	}
	return &verify.WorkerRange{First: first, Last: last}, nil
}

// addLayoutFlag gives c the flag --layout.
func addLayoutFlag(c *cobra.Command, v *layoutValue) {
	*v = newValue("LAYOUT", core.DefaultLayout(), core.ParseLayout)
	c.Flags().Var(v, "layout", "layout: "+strings.Join(core.LayoutNames(), ", ")+
		", or a fingerprint as 'unalike layout' prints it")
	complete(c, "layout", core.LayoutNames())
}

// addFormatFlag gives c the flag --format for one of several words, of which the first is the
// default.
func addFormatFlag(c *cobra.Command, v *choiceValue, what string, words ...string) {
	*v = newChoice(words...)
	c.Flags().Var(v, "format", what+": "+strings.Join(words, ", "))
	complete(c, "format", words)
}

// complete makes the shell offer words for a flag, and no space behind one that goes on.
func complete(c *cobra.Command, flag string, words []string) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, "/=") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	// The error is about a flag that does not exist or that has words already.
	if err := c.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(words, directive)); err != nil {
		c.PrintErrln("unalike: completion of --"+flag+":", err)
	}
}
