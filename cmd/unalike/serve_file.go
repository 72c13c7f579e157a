package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/server"
)

// Defaults of the file.
const (
	defaultConnections   = 1000
	defaultConnectionAge = 10 * time.Minute
	defaultStreams       = 100
)

// serveSettings is what serve works with.
type serveSettings struct {
	Listen, AdminListen        string
	Generators                 map[string]yaml.Node
	Store                      string
	Tokens                     []tokenSettings
	Leaf                       *leafSettings
	TLS                        tlsFiles
	Hosts                      []string
	Ready                      string
	AccessLog                  string
	MaxCount, MaxWatches       int
	MaxConnections, MaxStreams int
	MaxReplyBytes              int64
	MaxWait, MaxConnectionAge  time.Duration

	generators map[string]config.Config
	own        bool          // the file has a key that only serve has
	texts      config.Config // what it says of tags
	flat       []byte        // the text of the keys of package config, each in its line; empty: none
}

// tokenSettings is a token in the file.
type tokenSettings struct {
	File      string   `yaml:"file"`
	May       []string `yaml:"may"`
	PerSecond int      `yaml:"ids_per_second"`
}

// leafSettings says in the file how Leaf's routes are served.
type leafSettings struct {
	May string `yaml:"may"`
}

// serveSettings reads the file, the environment and the flags.
func (a *app) serveSettings(c *cobra.Command, o *serveOptions) (*serveSettings, error) {
	set := &serveSettings{generators: map[string]config.Config{}}
	if err := settings.CheckEnv(a.lookupEnv); err != nil {
		return nil, err
	}
	for _, k := range set.keys() {
		if k.to != nil && k.name != ofStore {
			continue
		}
		if v, _ := a.lookupEnv(settings.EnvName(k.name)); v != "" {
			a.complain("unalike: %s is set and not used by serve; name it in the file\n",
				settings.EnvName(k.name))
		}
	}
	if c.Flags().Changed("config") {
		data, err := settings.ReadFile(o.config)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		if err := set.parse(data); err != nil {
			return nil, fmt.Errorf("--config: %s: %w", o.config, err)
		}
	}
	switch several := len(set.Generators) > 0; {
	case several && len(set.flat) > 0:
		return nil, fmt.Errorf("--config: %s: it has generators and settings of a single one beside "+
			"them; move these into generators", o.config)
	case several && (o.coordinator != "" || c.Flags().Changed("layout")):
		return nil, usageError{errors.New("--coordinator and --layout are for a single generator, and " +
			"the file has several; leave them out")}
	}
	fromEnv, _ := a.lookupEnv(envListen) //mutant:serve-listen
	set.Listen = cmp.Or(o.listen, fromEnv, set.Listen, defaultListen)
	set.MaxConnections = cmp.Or(set.MaxConnections, defaultConnections)
	set.MaxConnectionAge = cmp.Or(set.MaxConnectionAge, defaultConnectionAge)
	set.MaxStreams = cmp.Or(set.MaxStreams, defaultStreams)
	if o.store != "" {
		set.Store = o.store
	}
	if err := a.expandURLs(set); err != nil {
		return nil, fmt.Errorf("--config: %s: %w", o.config, err)
	}
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("--config: %s: %w", o.config, err)
	}
	if len(set.Generators) > 0 || set.Store != "" && len(set.flat) == 0 && o.coordinator == "" {
		return set, nil // several, or tags alone
	}
	cfg, err := a.singleGenerator(c, o, set.flat)
	set.generators[server.DefaultName] = cfg
	return set, err
}

// readServeFile reads a file that has keys of serve; nil if it has none, or cannot be read as one.
func readServeFile(file string) (*serveSettings, error) {
	// What is no file can be read once, and is read as settings; what is wrong with it is said then.
	if i, err := os.Stat(file); err != nil || !i.Mode().IsRegular() || i.Size() > settings.MaxFile {
		return nil, nil //nolint:nilerr // see above
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	set := &serveSettings{generators: map[string]config.Config{}}
	if err := set.parse(data); !set.own {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return set, nil
}

// singleGenerator returns the settings of the generator "default".
func (a *app) singleGenerator(c *cobra.Command, o *serveOptions,
	flat []byte,
) (cfg config.Config, err error) {
	if len(flat) > 0 {
		if cfg, err = config.Parse(flat); err != nil {
			return cfg, fmt.Errorf("--config: %s: %w", o.config, err)
		}
	}
	if cfg, err = cfg.WithEnv(a.lookupEnv); err != nil {
		return cfg, err
	}
	if cfg.Layout == (core.Layout{}) || c.Flags().Changed("layout") {
		cfg.Layout = o.layout.v
	}
	where, err := a.findCoordinator(&o.namespaceOptions, cfg)
	if err == nil {
		where, cfg, err = where.withState(cfg)
	}
	if err != nil {
		return cfg, err
	}
	cfg.Coordinator = where.rawURL
	if o.check {
		return cfg, nil
	}
	return cfg, where.makeFolder()
}

// parse reads the file.
func (s *serveSettings) parse(data []byte) error {
	if len(data) > settings.MaxFile {
		return fmt.Errorf("the file has more than %d bytes", settings.MaxFile)
	}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return errors.New(withoutValues(err)) //mutant:serve-values
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return errors.New("the file is not a mapping; write lines of the form key: value")
	}
	others, err := s.readKeys(doc.Content[0])
	if err != nil {
		return err
	}
	if err := d.Decode(&more); err == nil {
		return fmt.Errorf("line %d: a second document begins here; a file has one", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return errors.New(withoutValues(err))
	}
	if len(others.Content) == 0 {
		return nil
	}
	if s.flat, err = placed(others); err != nil {
		return errors.New(withoutValues(err))
	}
	return nil
}

// withoutValues is the text of an error of the reader of YAML, which may repeat a part of the file,
// and with it a password: only what it says of the place remains.
func withoutValues(err error) string {
	return "this is not a valid file: " +
		quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "a value")
}

var quoted = regexp.MustCompile("(?s)`.*`")

// expandURLs reads the settings of each of several generators, and replaces references to
// variables.
func (a *app) expandURLs(s *serveSettings) error {
	lookup := a.lookupEnv // UNALIKE_TTL and so on are of no single one of several
	for _, key := range settings.Keys {
		lookup = without(lookup, settings.EnvName(key))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Generators)) {
		node := s.Generators[name]
		if node.Kind == yaml.AliasNode {
			node = *node.Alias
		}
		if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
			return fmt.Errorf("generators: %s: line %d: it has no settings; write {coordinator: URL}", name,
				node.Line)
		}
		text, err := placed(&node)
		if err != nil {
			return fmt.Errorf("generators: %s: %s", name, withoutValues(err))
		}
		cfg, err := config.Parse(text)
		if err == nil {
			cfg, err = cfg.WithEnv(lookup)
		}
		if err == nil && cfg.Coordinator == "" {
			err = errors.New("it has no coordinator; name its URL with the key coordinator")
		}
		if err != nil {
			return fmt.Errorf("generators: %s: %w", name, err)
		}
		if cfg.Layout == (core.Layout{}) {
			cfg.Layout = core.DefaultLayout()
		}
		s.generators[name] = cfg
	}
	if s.Store != "" {
		cfg, err := config.Config{Coordinator: s.Store}.WithEnv(lookup)
		if err != nil {
			return errors.New("store: " + strings.TrimPrefix(err.Error(), "config: coordinator: "))
		}
		s.Store = cfg.Coordinator
		if err := driver.CheckStore(s.Store); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// single is what the file says of a single generator, and of numbers.
func (s *serveSettings) single() (cfg config.Config, err error) {
	if len(s.flat) > 0 {
		cfg, err = config.Parse(s.flat)
	}
	cfg.Store, cfg.Formats, cfg.Zone = s.Store, s.texts.Formats, s.texts.Zone
	cfg.MaxSteps, cfg.Holds, cfg.YearStart = s.texts.MaxSteps, s.texts.Holds, s.texts.YearStart
	return cfg, err
}

// check checks what does not depend on anything else.
func (s *serveSettings) check() error {
	for _, n := range []struct {
		key                    string
		is, least, most, usual int64
	}{
		{"max_count", int64(s.MaxCount), 1, server.MostCount, server.DefaultMaxCount},
		{"max_connections", int64(s.MaxConnections), 1, 1_000_000, defaultConnections},
		{"max_streams", int64(s.MaxStreams), 1, 1000, defaultStreams},
		{"max_watches", int64(s.MaxWatches), 1, 1000, server.DefaultMaxWatches},
		{
			"max_reply_bytes", s.MaxReplyBytes, server.LeastReplyBytes, 1 << 40,
			server.DefaultMaxReplyBytes,
		},
	} {
		if n.is != 0 && (n.is < n.least || n.is > n.most) {
			return fmt.Errorf("%s is %d; it is a whole number from %d to %d, or left out for %d", n.key,
				n.is, n.least, n.most, n.usual)
		}
	}
	switch {
	case s.MaxWait < 0 || s.MaxWait > time.Hour:
		return fmt.Errorf("max_wait is %v; it is a duration of up to 1h, or left out for %v", s.MaxWait,
			server.DefaultMaxWait)
	case s.MaxConnectionAge < time.Second:
		return fmt.Errorf("max_connection_age is %v; it is a duration of 1s or more, or left out for %v",
			s.MaxConnectionAge, defaultConnectionAge)
	case s.Ready != "" && s.Ready != "all" && s.Ready != "any":
		return fmt.Errorf("ready is %.40q; it is all or any", s.Ready)
	case s.AccessLog != "" && s.AccessLog != server.AccessOff && s.AccessLog != server.AccessErrors &&
		s.AccessLog != server.AccessAll:
		return fmt.Errorf("access_log is %.40q; it is off, errors or all", s.AccessLog)
	case (s.TLS.Cert == "") != (s.TLS.Key == ""):
		return errors.New("tls: cert and key go together")
	case s.TLS.ClientCA != "" && s.TLS.Cert == "":
		return errors.New("tls: client_ca needs cert and key")
	case s.Leaf != nil && s.Leaf.May != "" && s.Leaf.May != "anyone" && s.Leaf.May != "generate":
		return errors.New("leaf: may is anyone, or generate, which needs a token")
	}
	for name := range s.Generators {
		if err := (server.Config{}).CheckGenerator(name, core.Layout{}); err != nil {
			return err
		}
	}
	return nil
}

// leaf says how Leaf's routes are served.
func (s *serveSettings) leaf() server.Leaf {
	if s.Leaf == nil {
		return server.Leaf{}
	}
	return server.Leaf{Enabled: true, Anyone: s.Leaf.May == "anyone"}
}

// tokensOnly reports whether callers show a token or a certificate, except probes.
func (s *serveSettings) tokensOnly() bool {
	return !s.leaf().Anyone && (len(s.Tokens) > 0 || s.TLS.ClientCA != "")
}

// tokenFiles returns the files of tokens.
func (s *serveSettings) tokenFiles() (files []server.TokenFile, err error) {
	for i, t := range s.Tokens {
		f := server.TokenFile{Path: t.File, PerSecond: t.PerSecond}
		for _, may := range t.May {
			switch may {
			case "generate":
				f.Generate = true
			case "operate":
				f.Operate = true
			default:
				return nil, fmt.Errorf("tokens: number %d may %.40q; generate and operate are known", i+1, may)
			}
		}
		if t.File == "" || len(t.May) == 0 {
			return nil, fmt.Errorf("tokens: number %d lacks file or may; write {file: PATH, may: "+
				"[generate]}", i+1)
		}
		if t.PerSecond < 0 {
			return nil, fmt.Errorf("tokens: number %d has ids_per_second %d; it is a positive number, or "+
				"left out for no limit", i+1, t.PerSecond)
		}
		files = append(files, f)
	}
	return files, nil
}
