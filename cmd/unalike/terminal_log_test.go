package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestTerminalLog(t *testing.T) {
	var out strings.Builder
	log := slog.New(newTerminalLog(&out, slog.LevelInfo))
	log.Debug("dropped")
	log.Info("said")
	log.Warn("no worker ID", "trying_until", time.Date(2026, 5, 17, 9, 30, 0, 0, time.UTC), "error",
		errors.New("one\ntwo"))
	log.With("worker_id", 3).WithGroup("g").Error("bad", "n", 1)
	const want = "unalike: said\nunalike: warning: no worker ID (trying until " +
		"2026-05-17T09:30:00.000Z, error one; two)\nunalike: error: bad (worker id 3, g.n 1)\n"
	if out.String() != want {
		t.Errorf("written was\n%s\nwant\n%s", &out, want)
	}
}
