package driver

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// passwordFile is the option of a URL that names a file with the password.
const passwordFile = "password_file"

// LoginOptions are the options of a URL that [URL.Login] reads.
var LoginOptions = []string{passwordFile}

// Password returns the password to log in with now; empty: there is none. It may read a file. It is
// safe for concurrent use, and its errors contain no password.
type Password func() (string, error)

// Login returns the user and the password of the URL. With option password_file, the password is
// the text of that file, which is read by each call of the Password, so that one that changes needs
// no restart. An error says that there are two passwords, or that the file cannot be read now; it
// does not wrap [coord.ErrInvalid].
func (u *URL) Login() (user string, password Password, err error) {
	text, given := "", false
	if u.User != nil {
		user = u.User.Username()
		text, given = u.User.Password()
	}
	if !u.Has(passwordFile) {
		return user, func() (string, error) { return text, nil }, nil
	}
	if given {
		return "", nil, fmt.Errorf(
			"there are a password and option %s; give one of them", passwordFile)
	}
	password = func() (string, error) { return readPassword(u.Option(passwordFile)) }
	_, err = password()
	return user, password, err
}

// LoginBoth is Login where a user and a password belong together: there are both, or neither.
func (u *URL) LoginBoth() (user string, password Password, err error) {
	user, password, err = u.Login()
	if err != nil || u.User == nil && !u.Has(passwordFile) {
		return user, password, err
	}
	if text, err := password(); err != nil || user == "" || text == "" {
		return "", nil, errors.Join(err, errors.New("a user and a password belong together; "+
			"write user:password@, or user@ and option password_file, or neither"))
	}
	return user, password, nil
}

// readPassword reads a file of one line; the end of the line is no part of the password.
func readPassword(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("option %s: %w", passwordFile, err)
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("option %s: %s has no password in its first line, or more than one line",
			passwordFile, file)
	}
	return text, nil
}
