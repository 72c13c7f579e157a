package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestTellSupervisor: systemd hears on its socket how far the service is, and a service without one
// says nothing.
func TestTellSupervisor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such sockets")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	tellSupervisor(slog.New(slog.DiscardHandler), "READY=1")
	dir, err := os.MkdirTemp("", "n") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"}
	l, err := net.ListenUnixgram("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("NOTIFY_SOCKET", socket.Name)
	tellSupervisor(slog.New(slog.DiscardHandler), "READY=1")
	got := make([]byte, 100)
	if n, err := l.Read(got); err != nil || string(got[:n]) != "READY=1" {
		t.Errorf("%q, %v", got[:n], err)
	}
}
