package drivers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ReadFile returns the content of a file of at most limit bytes. It refuses a pipe or a device,
// because reading one may never end. Errors are an [*fs.PathError], which names the file.
func ReadFile(path string, limit int) ([]byte, error) {
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
