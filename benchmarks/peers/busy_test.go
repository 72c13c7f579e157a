package peers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// busyVariable makes this program one that keeps a processor busy.
const busyVariable = "UNALIKE_BENCHMARK_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busyVariable) != "" {
		spin()
	}
	os.Exit(m.Run())
}

// spin keeps a processor busy until its input ends, which it does at the latest with the
// process that started this one, however that ends.
func spin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an input that fails has ended
		os.Exit(0)
	}()
	fmt.Println("busy")
	for { //nolint:staticcheck // to spin is all that it is for
	}
}

// beside starts so many busy processes, and ends them with the benchmark.
func beside(b *testing.B, processes int) {
	b.Helper()
	for range processes {
		cmd := exec.CommandContext(b.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), busyVariable+"=1")
		_, inErr := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if inErr != nil || outErr != nil {
			b.Fatal(inErr, outErr)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Wait() }) // the end of b's context kills it
		if _, err := out.Read(make([]byte, 1)); err != nil {
			b.Fatalf("a busy process does not begin: %v", err)
		}
	}
}
