package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// The environment of a holder whose clock is ahead.
const (
	aheadURL   = "UNALIKE_TEST_AHEAD_URL" // set: be one
	aheadBy    = "UNALIKE_TEST_AHEAD_BY"
	aheadLimit = "UNALIKE_TEST_AHEAD_LIMIT" // of its start
)

// aheadMain is a holder whose clock is ahead, if the process was started to be one. It does not
// return then.
func aheadMain() {
	url, ok := os.LookupEnv(aheadURL)
	if !ok {
		return
	}
	err := beAhead(url)
	fmt.Println("ended:", err)
	os.Exit(0)
}

// beAhead steps the clock by each line of the input, and prints an ID, or why there is none.
func beAhead(url string) error {
	ahead, err := time.ParseDuration(os.Getenv(aheadBy))
	if err != nil {
		return err
	}
	limit, err := time.ParseDuration(os.Getenv(aheadLimit))
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := coord.Open(ctx, url, coord.OpenOptions{})
	if err != nil {
		return err
	}
	k := clocktest.NewShifted(time.Now().Add(ahead))
	g, err := core.New(ctx, c, core.Config{Clock: k, StartTimeout: limit})
	if err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); ; {
		switch id, err := g.Next(); {
		case errors.Is(err, core.ErrWindowEnded):
			fmt.Println("window ended:", err)
		case err != nil:
			return err
		default:
			fmt.Println(int64(id))
		}
		if !in.Scan() {
			return in.Err()
		}
		step, err := time.ParseDuration(in.Text())
		if err != nil {
			return err
		}
		k.Step(step)
	}
}
