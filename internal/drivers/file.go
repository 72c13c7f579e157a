package drivers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// readTime is how long reading a file may take. One on a network may never end.
const readTime = 5 * time.Second

// overdue has the paths of files that are still being read after readTime.
var overdue sync.Map

// ReadFile returns the content of a file of at most limit bytes, within 5 s. It refuses a pipe or a
// device, because reading one may never end. Errors are an [*fs.PathError], which names the file.
func ReadFile(path string, limit int) ([]byte, error) { return within(readTime, path, limit, read) }

// within calls read, and gives it up after most. Until that read has ended, others of the same file
// fail at once.
func within(most time.Duration, path string, limit int,
	read func(path string, limit int) ([]byte, error),
) ([]byte, error) {
	overtime := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("no answer within %v", most)}
	if _, ok := overdue.Load(path); ok { //mutant:file-overdue
		return nil, overtime
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read(path, limit)
		done <- result{data, err}
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.data, r.err
	case <-timer.C:
	}
	overdue.Store(path, true)
	go func() {
		<-done
		overdue.Delete(path)
	}()
	return nil, overtime
}

func read(path string, limit int) ([]byte, error) {
	bad := func(why string) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New(why)}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return bad("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return bad(fmt.Sprintf("more than %d bytes", limit))
	}
	return data, nil
}

// ReadLine returns the only line of a file, without its end: a password, a user or a token. A line
// has 1 to limit bytes. Errors are an [*fs.PathError] and do not repeat the line.
func ReadLine(path string, limit int) (string, error) {
	data, err := ReadFile(path, limit+len("\r\n"))
	if err != nil {
		return "", err
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if line == "" || len(line) > limit || strings.ContainsAny(line, "\r\n") {
		return "", &fs.PathError{
			Op: "read", Path: path, Err: fmt.Errorf("must hold one line of 1 to %d bytes", limit),
		}
	}
	return line, nil
}
