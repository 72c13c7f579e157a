package worker

import (
	"fmt"
	"os/exec"
	"syscall"
)

// bootFile is where Linux says which run of the system this is.
const bootFile = "/proc/sys/kernel/random/boot_id"

// apart are the attributes of a process whose mounts nobody else sees.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} }

// pretend makes the text of a file the name of the run of the system, for this process.
func pretend(file string) error {
	// Go has made the mounts private when the process was started.
	if err := syscall.Mount(file, bootFile, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("worker: mount %s over %s: %w", file, bootFile, err)
	}
	return nil
}

// CannotPretend says why the machine of a [Spec] cannot be given; nil: it can.
func CannotPretend() error {
	// The same, by programs of the system.
	out, err := exec.Command("unshare", "-m", "mount", "--bind", "/dev/null", bootFile).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
