package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
)

// envCoordinator names the coordinator where the flag does not.
const envCoordinator = "UNALIKE_COORDINATOR"

// place is where a coordinator is, and who says so.
type place struct {
	from    string            // the flag, the variable or the file that names it
	rawURL  string            // may contain a password
	typed   bool              // it stands on the command line
	options coord.OpenOptions // but for the logger
	// that of the default coordinator, with those of other layouts; empty: it is another one
	folder string
}

// String returns the URL without its password.
func (p place) String() string {
	u, err := driver.ParseURL(p.rawURL)
	if err != nil {
		return "a coordinator whose URL is wrong"
	}
	return u.String()
}

// find returns the coordinator that the flag names, else the settings, else the etcd of
// this user on this machine.
func (a *app) find(o *namespaceOptions, cfg config.Config) (place, error) {
	switch {
	case o.coordinator != "":
		return place{from: "--coordinator", rawURL: o.coordinator, typed: true}, nil
	case cfg.Coordinator != "":
		p := place{from: envCoordinator, rawURL: cfg.Coordinator}
		if v, _ := a.lookupEnv(envCoordinator); v == "" {
			p.from = o.config + ": coordinator"
		}
		return p, nil
	}
	p, err := a.localCoordinator(cfg.Layout)
	if err != nil {
		return p, fmt.Errorf("%s: %w", theDefault, err)
	}
	return p, nil
}

// open opens the coordinator at p. A mistake in a URL on the command line is a usage
// error.
func (p place) open(ctx context.Context, log *slog.Logger) (coord.Coordinator, error) {
	if p.folder != "" {
		if err := os.MkdirAll(p.folder, 0o700); err != nil {
			return nil, fmt.Errorf("%s: the folder of its data cannot be made: %w; name another "+
				"coordinator with --coordinator or %s", p.from, err, envCoordinator)
		}
	}
	o := p.options
	o.Logger = log
	c, err := coord.Open(ctx, p.rawURL, o)
	if err != nil {
		// The URL itself is not printed: it may contain a password.
		err = suggestScheme(p.rawURL, coord.Schemes(), fmt.Errorf("%s: %w", p.from, err))
		if p.typed && p.misspelled(err) {
			err = usageError{err}
		}
		return nil, err
	}
	return c, nil
}

// opener opens it, for [app.awaitPresence].
func (p place) opener() opener {
	return func(ctx context.Context, log *slog.Logger) (io.Closer, error) { return p.open(ctx, log) }
}

// misspelled tells whether err is about the URL itself, and not about what it leads to.
// What is wrong with a back end on the network shows later; the drivers that look into a
// file or folder when they are opened say in the same words that it is the URL.
func (p place) misspelled(err error) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(p.rawURL), "://")
	switch local := scheme == "embed"; {
	case !errors.Is(err, coord.ErrInvalid):
		return false
	case !local:
		return true
	}
	for _, words := range []string{" URL: ", " " + scheme + " URL: "} {
		if strings.Contains(err.Error(), coord.ErrInvalid.Error()+words) {
			return true
		}
	}
	return false
}

// checkThere refuses an embedded etcd that is not there, as opening it would make it.
func (p place) checkThere() error {
	u, _ := driver.ParseURL(p.rawURL)
	if u == nil || u.Scheme != "embed" || len(u.Hosts) > 0 {
		return nil // if something is wrong, opening it tells what
	}
	dir := u.Path
	if runtime.GOOS == "windows" {
		dir = filepath.FromSlash(strings.TrimPrefix(dir, "/"))
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return fmt.Errorf("%s: there is no etcd in folder %s; check the name ('unalike generate' and "+
			"'unalike init' make one where there is none)", p.from, dir)
	}
	return nil
}

// theDefault is what the default coordinator is called.
const theDefault = "the default coordinator"

// localCoordinator is an embedded etcd in the user's data folder. Each layout has a
// folder of its own, as it is a namespace of its own.
func (a *app) localCoordinator(layout core.Layout) (place, error) {
	folder, err := dataFolder(runtime.GOOS, a.lookupEnv)
	if err != nil {
		return place{}, err
	}
	folder = filepath.Join(folder, "unalike")
	name := strings.NewReplacer("/", "_", ":", "").Replace(layout.String())
	return place{
		from: theDefault, rawURL: embedURL(filepath.Join(folder, "etcd_"+name)),
		folder: folder,
	}, nil
}

// embedURL returns the URL of an etcd in a folder, which is an absolute path. A URL has slashes,
// one of them in front of a drive.
func embedURL(folder string) string {
	return (&driver.URL{Scheme: "embed", Path: "/" + strings.TrimPrefix(filepath.ToSlash(folder),
		"/")}).Text()
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
			return "", fmt.Errorf("the user's data folder is unknown because %s is not set; set it, or "+
				"name a coordinator with --coordinator or %s", name, envCoordinator)
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
	folder, err := fromHome(".local", "share")
	if err != nil && isFolder(serviceData+"/unalike") {
		return serviceData, nil
	}
	return folder, err
}

// serviceData is where the data of a service are that has no home, such as in an image.
const serviceData = "/var/lib"

// isFolder tells whether there is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
