package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/driver"
)

// TestURL_Login: where user and password are, and what is wrong with their files.
func TestURL_Login(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		userinfo, options    string // {} is the directory of the files
		user, password, says string
	}{
		"in the URL":        {"ann:s3cret@", "", "ann", "s3cret", ""},
		"one line":          {"ann@", "password_file={}/line", "ann", "s3cret ", ""},
		"without a user":    {"", "password_file={}/line", "", "s3cret ", ""},
		"both in files":     {"", "user_file={}/user&password_file={}/line", "bob", "s3cret ", ""},
		"empty":             {"ann@", "password_file={}/empty", "", "", "one line of 1 to 4096"},
		"two lines":         {"ann@", "password_file={}/two", "", "", "must hold one line"},
		"too long":          {"ann@", "password_file={}/long", "", "", "more than 4098 bytes"},
		"a device":          {"ann@", "password_file=" + os.DevNull, "", "", "not a regular file"},
		"missing":           {"ann@", "password_file={}/none", "", "", "none"},
		"another password":  {"ann:s3cret@", "password_file={}/line", "", "", "give one of them"},
		"an empty password": {"ann:@", "password_file={}/line", "", "", "give one of them"},
		"another user": {
			"ann@", "user_file={}/user&password_file={}/line", "", "", "give one of them",
		},
		"a user alone": {"", "user_file={}/user", "", "", "user_file needs option password_file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.ToSlash(t.TempDir())
			for file, text := range map[string]string{
				"line": "s3cret \r\n", "user": "bob\n", "empty": "\n", "two": "s3c\nret\n",
				"long": strings.Repeat("s3c", 4096),
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			options := strings.ReplaceAll(tc.options, "{}", dir)
			u, err := driver.ParseURL("redis://" + tc.userinfo + "h?" + options)
			if err != nil {
				t.Fatal(err)
			}
			login, err := u.Login()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) ||
					strings.Contains(err.Error(), "s3c") {
					t.Errorf("%v; want an error that says %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if user, password, err := login(); err != nil || user != tc.user || password != tc.password {
				t.Errorf("user %q, password %q (%v), want %q, %q", user, password, err, tc.user, tc.password)
			}
		})
	}
}

// TestURL_LoginWithoutAFile: what is no path may be a password, and no error and no log shows it.
func TestURL_LoginWithoutAFile(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"password_file", "user_file", "sentinel_password_file"} {
		u, err := driver.ParseURL("redis://h?" + option + "=s3cret")
		if err != nil {
			t.Fatal(err)
		}
		read := u.Login
		if strings.HasPrefix(option, "sentinel_") {
			read = func() (func() (user, password string, err error), error) {
				return u.LoginWith("sentinel_")
			}
		}
		_, err = read()
		if err == nil || !strings.Contains(err.Error(), option+" is no absolute path") ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v; want an error that wants an absolute path", err)
		}
		if strings.Contains(u.String(), "s3cret") {
			t.Errorf("%s shows what may be a password", u)
		}
	}
}
