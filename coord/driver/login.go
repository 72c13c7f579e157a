package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// passwordFile is the option of a URL that names a file with the password.
const passwordFile = "password_file"

// LoginOptions are the options of a URL that [URL.Login] reads.
var LoginOptions = []string{passwordFile}

// Password returns the password to log in with now; empty: there is none. It may read a file, and
// takes as long as the disk. It is safe for concurrent use, and its errors contain no password.
type Password func() (string, error)

// Login returns the user and the password of the URL. With option password_file, the password is
// the text of that file, which each call of the Password reads, so that one that changes needs no
// restart. An error says that there are two passwords, or that the file cannot be read now.
func (u *URL) Login() (user string, password Password, err error) {
	text, given := "", false
	if u.User != nil {
		user = u.User.Username()
		text, given = u.User.Password()
	}
	if !u.Has(passwordFile) {
		return user, func() (string, error) { return text, nil }, nil
	}
	file := u.Option(passwordFile)
	switch {
	case given:
		return "", nil, errors.New("there are a password and option password_file; give one of them")
	case !filepath.IsAbs(file): // it may be a password
		return "", nil, errors.New("option password_file is no absolute path; name a file")
	}
	password = func() (string, error) { return readPassword(file) }
	_, err = password()
	return user, password, err
}

// HasPassword reports whether the URL has a password, or names a file with one.
func (u *URL) HasPassword() bool {
	if u.User == nil {
		return u.Has(passwordFile)
	}
	text, _ := u.User.Password()
	return text != "" || u.Has(passwordFile)
}

// LoginBoth is Login where a user and a password belong together: there are both, or neither.
func (u *URL) LoginBoth() (user string, password Password, err error) {
	if user, password, err = u.Login(); err != nil {
		return user, password, err
	}
	if u.User != nil && user == "" || (user != "") != u.HasPassword() {
		return "", nil, errors.New("a user and a password belong together; write user:password@, " +
			"or user@ and option password_file, or neither")
	}
	return user, password, nil
}

// maxPassword is how long a file with a password may be.
const maxPassword = 4096

// readPassword reads a file of one line; the end of the line is no part of the password. What is
// no file, such as a pipe, might never end.
func readPassword(path string) (string, error) {
	bad := func(why string) error {
		return &fs.PathError{Op: "option password_file: read", Path: path, Err: errors.New(why)}
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", bad("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("option password_file: %w", err)
	}
	defer func() { _ = file.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(file, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("option password_file: %w", err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" || len(text) > maxPassword || strings.ContainsAny(text, "\r\n") {
		return "", bad("it is to have the password in one line, of 1 to 4096 bytes")
	}
	return text, nil
}
