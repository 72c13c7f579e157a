package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// envCoordinator names the coordinator where the flag does not.
const envCoordinator = "UNALIKE_COORDINATOR"

// openCoordinator opens what the flag names, else the environment, else the etcd of
// this user on this machine. Mistakes in the URL are usage errors.
func (a *app) openCoordinator(ctx context.Context, flag string, layout core.Layout) (coord.Coordinator, error) {
	from, rawURL := "--coordinator", flag
	if rawURL == "" {
		from = envCoordinator
		rawURL, _ = a.lookupEnv(envCoordinator)
	}
	if rawURL == "" {
		var err error
		if rawURL, err = a.localCoordinator(layout); err != nil {
			return nil, fmt.Errorf("the default coordinator: %w", err)
		}
		from = "the default coordinator"
	}
	return openURL(ctx, from, rawURL)
}

// openURL opens a URL that comes from where from says.
func openURL(ctx context.Context, from, rawURL string) (coord.Coordinator, error) {
	c, err := coord.Open(ctx, rawURL)
	if err != nil {
		// The URL itself is not printed: it may contain a password.
		err = fmt.Errorf("%s: %w", from, err)
		if errors.Is(err, coord.ErrInvalid) {
			err = usageError{err}
		}
		return nil, err
	}
	return c, nil
}

// localCoordinator returns the URL of an embedded etcd in the user's data folder. Each
// layout has a folder of its own, as it is a namespace of its own.
func (a *app) localCoordinator(layout core.Layout) (string, error) {
	folder, err := dataFolder(runtime.GOOS, a.lookupEnv)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "unalike")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of its data cannot be made: %w; name another coordinator with --coordinator or %s", err, envCoordinator)
	}
	name := strings.NewReplacer("/", "_", ":", "").Replace(layout.String())
	return "embed://" + urlPath(filepath.Join(folder, "etcd_"+name)), nil
}

// urlPath returns an absolute path as a URL has it: with slashes, one in front of a
// drive, and escaped, also what a reader could take for the end of a user's name.
func urlPath(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return strings.ReplaceAll((&url.URL{Path: path}).EscapedPath(), "@", "%40")
}

// dataFolder returns where programs keep a user's data on the system goos.
func dataFolder(goos string, lookupEnv func(string) (string, bool)) (string, error) {
	fromHome := func(parts ...string) (string, error) {
		name := "HOME"
		if goos == "windows" {
			name = "USERPROFILE"
		}
		home, _ := lookupEnv(name)
		if home == "" {
			return "", fmt.Errorf("the user's data folder is unknown because %s is not set; set it, or name a coordinator with --coordinator or %s", name, envCoordinator)
		}
		return filepath.Join(append([]string{home}, parts...)...), nil
	}
	override := "XDG_DATA_HOME"
	if goos == "windows" {
		override = "LOCALAPPDATA"
	}
	if dir, _ := lookupEnv(override); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%s is %q; it must be an absolute path", override, dir)
		}
		return dir, nil
	}
	switch goos {
	case "windows":
		return fromHome("AppData", "Local")
	case "darwin", "ios":
		return fromHome("Library", "Application Support")
	}
	return fromHome(".local", "share")
}
