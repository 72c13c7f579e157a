package driver

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/unalike-id/unalike/internal/drivers"
)

// maxSecret is how many bytes a user or a password in a file may have.
const maxSecret = 4096

// Login returns how to log in: with the user and the password of the URL, or with those in the
// files that options user_file and password_file name. The returned function is called for each new
// connection; an empty user or password means that there is none. It reads the files, so that a
// program takes up a new user or password without a restart, takes as long as the disk, and is safe
// for concurrent use. Its errors contain no password. An error of Login reports that something is
// given twice, or that a file cannot be read now.
func (u *URL) Login() (func() (user, password string, err error), error) {
	var user, password string
	given := false
	if u.User != nil {
		user = u.User.Username()
		password, given = u.User.Password()
	}
	return u.login("", user, password, given)
}

// LoginWith is [URL.Login] for another server that the URL leads to: it reads the options user,
// password, user_file and password_file, each with a prefix before its name.
func (u *URL) LoginWith(prefix string) (func() (user, password string, err error), error) {
	password := prefix + "password"
	return u.login(prefix, u.Option(prefix+"user"), u.Option(password), u.Has(password))
}

func (u *URL) login(prefix, user, password string, given bool,
) (func() (user, password string, err error), error) {
	name, err := u.secretOf(prefix+drivers.UserFile, "user", user, user != "")
	if err != nil {
		return nil, err
	}
	word, err := u.secretOf(prefix+drivers.PasswordFile, "password", password, given)
	if err != nil {
		return nil, err
	}
	if name.file != "" && word.file == "" {
		return nil, fmt.Errorf("option %s needs option %s", prefix+drivers.UserFile,
			prefix+drivers.PasswordFile)
	}
	login := func() (user, password string, err error) {
		if user, err = name.read(); err != nil {
			return "", "", err
		}
		password, err = word.read()
		return user, password, err
	}
	_, _, err = login()
	return login, err
}

// HasPassword reports whether the URL has a password, or names a file with one.
func (u *URL) HasPassword() bool {
	if u.User == nil {
		return u.Has(drivers.PasswordFile)
	}
	text, _ := u.User.Password()
	return text != "" || u.Has(drivers.PasswordFile)
}

// LoginBoth is Login where a user and a password belong together: there are both, or neither. The
// function is nil if there is neither.
func (u *URL) LoginBoth() (func() (user, password string, err error), error) {
	login, err := u.Login()
	if err != nil {
		return nil, err
	}
	hasUser := u.Has(drivers.UserFile) || u.User != nil && u.User.Username() != ""
	if u.User != nil && !hasUser || hasUser != u.HasPassword() {
		return nil, errors.New("a user and a password belong together; write user:password@, " +
			"or user@ and option password_file, or neither")
	}
	if !hasUser {
		return nil, nil
	}
	return login, nil
}

// secret is a user or a password: a text, or the only line of a file.
type secret struct{ text, option, file string }

// secretOf returns the secret that is given as a text, or in a file that an option names.
func (u *URL) secretOf(option, what, text string, given bool) (secret, error) {
	s := secret{text: text, option: option, file: u.Option(option)}
	switch {
	case !u.Has(option):
		return s, nil
	case given:
		return s, fmt.Errorf("there are a %s and option %s; give one of them", what, option)
	case !filepath.IsAbs(s.file): // it may be a password
		return s, fmt.Errorf("option %s is no absolute path; name a file", option)
	}
	return s, nil
}

// read returns the secret as it is now.
func (s secret) read() (string, error) {
	if s.file == "" {
		return s.text, nil
	}
	text, err := drivers.ReadLine(s.file, maxSecret)
	if err != nil {
		return "", fmt.Errorf("option %s: %w", s.option, err)
	}
	return text, nil
}
