package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/internal/wrongserver"
	"github.com/unalike-id/unalike/segment"
)

// What a place is of: the flag and the key of the file that name it.
const (
	ofCoordinator = "coordinator"
	ofStore       = "store"
)

// The variables that name a place where the flag does not.
const (
	envCoordinator = "UNALIKE_COORDINATOR"
	envStore       = "UNALIKE_STORE"
)

// theDefault is what the default coordinator is called.
const theDefault = "the default coordinator"

// place is where a coordinator or a store is, and who says so.
type place struct {
	from   string // the flag, the variable or the file that names it
	rawURL string // may contain a password
	typed  bool   // it stands on the command line
	// that of the default coordinator, with those of other layouts, and of the default store; empty:
	// it is another one
	folder string
}

// String returns the URL without its password.
func (p place) String() string {
	u, err := driver.ParseURL(p.rawURL)
	if err != nil {
		return "a URL that is wrong"
	}
	return u.String()
}

// find returns the place that the flag names, else the settings, else the etcd in a folder of this
// user's data on this machine. File is where the settings are, unless in the environment.
func (a *app) find(of, flag, setting, file, folder string) (place, error) {
	env := settings.EnvName(of)
	switch v, _ := a.lookupEnv(env); {
	case flag != "":
		return place{from: "--" + of, rawURL: flag, typed: true}, nil
	case setting != "" && v != "":
		return place{from: env, rawURL: setting}, nil
	case setting != "":
		return place{from: file + ": " + of, rawURL: setting}, nil
	}
	from := "the default " + of
	data, err := dataFolder(runtime.GOOS, a.lookupEnv)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w, or name one with --%s or %s", from, err, of, env)
	}
	data = filepath.Join(data, "unalike")
	return place{from: from, rawURL: embedURL(filepath.Join(data, folder)), folder: data}, nil
}

// findCoordinator finds the coordinator. By default, each layout has a folder of its own, as it is
// a namespace of its own.
func (a *app) findCoordinator(o *namespaceOptions, cfg config.Config) (place, error) {
	name := strings.NewReplacer("/", "_", ":", "").Replace(cfg.Layout.String())
	return a.find(ofCoordinator, o.coordinator, cfg.Coordinator, o.config, "etcd_"+name)
}

// open opens the coordinator at p.
func (p place) open(ctx context.Context, log *slog.Logger) (coord.Coordinator, error) {
	if err := p.makeFolder(); err != nil {
		return nil, err
	}
	c, err := coord.Open(ctx, p.rawURL, coord.OpenOptions{Logger: log})
	return c, p.explain(err, drivers.Coordinators.Schemes())
}

// check returns an error if the URL of a coordinator is wrong. It contacts no server.
func (p place) check() error {
	return p.explain(driver.Check(p.rawURL, coord.LeaseConfig{}), drivers.Coordinators.Schemes())
}

// checkStore is check for a store.
func (p place) checkStore() error {
	return p.explain(driver.CheckStore(p.rawURL), drivers.Stores.Schemes())
}

// openStore opens the store of segments at p.
func (p place) openStore(ctx context.Context, log *slog.Logger) (segment.Store, error) {
	if err := p.makeFolder(); err != nil {
		return nil, err
	}
	s, err := segment.Open(ctx, p.rawURL, segment.OpenOptions{Logger: log})
	return s, p.explain(err, drivers.Stores.Schemes())
}

// makeFolder makes the folder of what is there by default.
func (p place) makeFolder() error {
	if p.folder == "" {
		return nil
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return fmt.Errorf("%s: the folder of its data cannot be made: %w; name another one", p.from, err)
	}
	return nil
}

// explain adds to an error of opening where the URL stands. A mistake in one on the command line is
// a usage error. The URL itself is not printed: it may contain a password.
func (p place) explain(err error, schemes []string) error {
	if err == nil {
		return nil
	}
	invalid := errors.Is(err, coord.ErrInvalid)
	_, wrong := errors.AsType[*wrongserver.Error](err) // which only asking has shown
	err = suggestScheme(p.rawURL, schemes, fmt.Errorf("%s: %w", p.from, err))
	if p.typed && invalid && !wrong {
		return usageError{err}
	}
	return err
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

// withState returns p without the state file in its URL, and the settings with it: with the file, a
// generator goes on while the coordinator is away.
func (p place) withState(cfg config.Config) (place, config.Config, error) {
	if _, err := driver.ParseURL(p.rawURL); err != nil {
		return p, cfg, nil //nolint:nilerr // opening it says what is wrong
	}
	var err error
	p.rawURL, cfg, err = cfg.WithStateFile(p.rawURL, p.from)
	return p, cfg, err
}

// withoutState returns p without a state file, which is for generators alone: what an operator
// asks about is in the coordinator, and the file may be on another machine.
func (p place) withoutState() place {
	if rest, _, err := driver.CutStateFile(p.rawURL); err == nil {
		p.rawURL = rest
	}
	return p
}

// embedURL returns the URL of an etcd in a folder, which is an absolute path. A URL has slashes,
// one of them in front of a drive.
func embedURL(folder string) string {
	return (&driver.URL{
		Scheme: "embed",
		Path:   "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/"),
	}).Text()
}

// dataFolder returns where programs keep a user's data on the system goos.
func dataFolder(goos string, lookupEnv func(string) (string, bool)) (string, error) {
	override, homeName, inHome := "XDG_DATA_HOME", "HOME", ".local/share"
	switch goos {
	case "windows":
		override, homeName, inHome = "LOCALAPPDATA", "USERPROFILE", "AppData/Local"
	case "darwin", "ios":
		inHome = "Library/Application Support"
	}
	if dir, _ := lookupEnv(override); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%s is %q; it must be an absolute path", override, dir)
		}
		return dir, nil
	}
	if home, _ := lookupEnv(homeName); home != "" {
		return filepath.Join(home, filepath.FromSlash(inHome)), nil
	}
	// In an image, for example, a service has no home.
	if info, err := os.Stat(serviceData + "/unalike"); err == nil && info.IsDir() {
		return serviceData, nil
	}
	return "", fmt.Errorf("the user's data folder is unknown because %s is not set; set it", homeName)
}

// serviceData is where the data of a service are that has no home.
const serviceData = "/var/lib"
