package drivers

import (
	"fmt"
	"strconv"
	"time"
)

// Options of a URL that name files with a user and a password.
const (
	UserFile     = "user_file"
	PasswordFile = "password_file"
)

// LoginOptions are both options for a login.
var LoginOptions = []string{UserFile, PasswordFile}

// SetTwice is the error of a lease time that has two values. It wraps kind.
func SetTwice(kind error, field string, here, there time.Duration) error {
	return fmt.Errorf("%w: %s is %v in the configuration and %v in the coordinator's URL or options; "+
		"set it in one place", kind, field, here, there)
}

// JoinPlace makes the Place of a coord.Description from a kind of back end and the names that
// select a namespace in it, in a fixed order. If a name that is needed is empty, leave the Place
// empty.
func JoinPlace(kind string, parts ...string) string {
	for _, p := range parts {
		kind += " " + strconv.Quote(p)
	}
	return kind
}
