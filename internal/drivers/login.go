package drivers

import (
	"errors"
	"net/url"
)

// Login returns the user and the password of a URL whose servers want both or none; empty: it has none.
func Login(of *url.Userinfo) (user, password string, err error) {
	if of == nil {
		return "", "", nil
	}
	user = of.Username()
	if password, _ = of.Password(); user == "" || password == "" {
		return "", "", errors.New("a user and a password belong together; write user:password@, or neither")
	}
	return user, password, nil
}
