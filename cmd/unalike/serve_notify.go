package main

import (
	"log/slog"
	"net"
	"os"
)

// tellSupervisor tells systemd, where it has started this process with Type=notify, how far it is.
func tellSupervisor(log *slog.Logger, state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close()
	}
	warnOf(log, err, "systemd cannot be told "+state)
}
