package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/driver"
)

// TestLogin: where the password is, and what is wrong with its file.
func TestLogin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	for name, tc := range map[string]struct {
		userinfo, text, password, says string
	}{
		"one line":          {"ann@", "s3cret", "s3cret", ""},
		"with its end":      {"ann@", "s3cret \r\n", "s3cret ", ""},
		"of nobody":         {"", "s3cret\n", "s3cret", ""},
		"empty":             {"ann@", "\n", "", "in one line"},
		"two lines":         {"ann@", "s3\ncret\n", "", "in one line"},
		"a pipe":            {"ann@", "", "", "no regular file"},
		"there is another":  {"ann:s3cret@", "other\n", "", "give one of them"},
		"the other is none": {"ann:@", "other\n", "", "give one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			file := file
			if tc.says == "no regular file" {
				file = os.DevNull
			} else if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			url := "redis://" + tc.userinfo + "h?password_file=" + filepath.ToSlash(file)
			u, err := driver.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			user, read, err := u.Login()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) ||
					strings.Contains(err.Error(), "s3") {
					t.Errorf("%v; want an error that says %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if password, err := read(); err != nil || password != tc.password {
				t.Errorf("the password is %q (%v), want %q", password, err, tc.password)
			}
			if want := strings.TrimSuffix(tc.userinfo, "@"); user != want {
				t.Errorf("the user is %q, want %q", user, want)
			}
		})
	}
}

// TestLoginWithoutAFile: what is no path may be a password, and no error and no log shows it.
func TestLoginWithoutAFile(t *testing.T) {
	t.Parallel()
	u, err := driver.ParseURL("redis://ann@h?password_file=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = u.Login()
	if err == nil || !strings.Contains(err.Error(), "absolute") ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v; want an error that wants an absolute path", err)
	}
	if strings.Contains(u.String(), "s3cret") {
		t.Errorf("%s shows what may be a password", u)
	}
}
