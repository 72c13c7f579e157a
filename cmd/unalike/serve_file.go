package main

import (
	"bytes"
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
	"github.com/unalike-id/unalike/server"
)

// serveKeys are the keys of the file beside those of package config.
var serveKeys = []string{"listen", "generators", "store", "tokens", "leaf", "tls", "hosts", "max_count", "max_wait"}

// serveSettings is what serve works with.
type serveSettings struct {
	Listen     string               `yaml:"listen"`
	Generators map[string]yaml.Node `yaml:"generators"`
	Store      string               `yaml:"store"`
	Tokens     []struct {
		File string   `yaml:"file"`
		May  []string `yaml:"may"`
	} `yaml:"tokens"`
	Leaf *struct {
		May string `yaml:"may"`
	} `yaml:"leaf"`
	TLS      tlsFiles      `yaml:"tls"`
	Hosts    []string      `yaml:"hosts"`
	MaxCount int           `yaml:"max_count"`
	MaxWait  time.Duration `yaml:"max_wait"`

	Others     map[string]yaml.Node `yaml:",inline"` // the keys of package config
	generators map[string]config.Config
	flat       []byte // the text of Others, each in its line; empty: none
}

// serveSettings reads the file, the environment and the flags.
func (a *app) serveSettings(c *cobra.Command, o *serveOptions) (*serveSettings, error) {
	set := &serveSettings{generators: map[string]config.Config{}}
	if err := config.CheckEnv(a.lookupEnv); err != nil {
		return nil, err
	}
	if v, _ := a.lookupEnv(envStore); v != "" {
		a.complain("unalike: %s is set and not used by serve; name the store with --store or in the file\n", envStore)
	}
	if c.Flags().Changed("config") {
		data, err := os.ReadFile(o.config)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		if err := set.parse(data); err != nil {
			return nil, fmt.Errorf("--config: %s: %w", o.config, err)
		}
	}
	switch several := len(set.Generators) > 0; {
	case several && len(set.flat) > 0:
		return nil, fmt.Errorf("--config: %s: it has generators and settings of a single one beside them; move these into generators", o.config)
	case several && (o.coordinator != "" || c.Flags().Changed("layout")):
		return nil, usageError{errors.New("--coordinator and --layout are for a single generator, and the file has several; leave them out")}
	}
	if o.listen != "" {
		set.Listen = o.listen
	} else if set.Listen == "" {
		set.Listen = defaultListen
	}
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

// singleGenerator returns the settings of the generator "default".
func (a *app) singleGenerator(c *cobra.Command, o *serveOptions, flat []byte) (cfg config.Config, err error) {
	if len(flat) > 0 {
		if cfg, err = config.Parse(flat); err != nil {
			return cfg, fmt.Errorf("--config: %s: %w", o.config, err)
		}
	}
	if cfg, err = cfg.WithEnv(a.lookupEnv); err != nil {
		return cfg, err
	}
	if cfg.Layout == (core.Layout{}) || c.Flags().Changed("layout") {
		cfg.Layout = o.layout.Layout
	}
	where, err := a.find(&o.namespaceOptions, cfg)
	if err == nil {
		where, err = where.withState(cfg)
	}
	if err != nil {
		return cfg, err
	}
	cfg.Coordinator = where.rawURL
	return cfg, makeFolder(where)
}

// parse reads the file.
func (s *serveSettings) parse(data []byte) error {
	var doc yaml.Node
	if len(data) > config.MaxFile {
		return fmt.Errorf("the file has more than %d bytes", config.MaxFile)
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return errors.New(withoutValues(err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return errors.New("the file is not a mapping; write lines of the form key: value")
	}
	root := doc.Content[0]
	if err := unknownServeKeys(root); err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil {
		return errors.New(withoutValues(err))
	}
	if err := d.Decode(&doc); err == nil {
		return fmt.Errorf("line %d: a second document begins here; a file has one", doc.Line)
	} else if !errors.Is(err, io.EOF) {
		return errors.New(withoutValues(err))
	}
	flat := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !slices.Contains(serveKeys, root.Content[i].Value) {
			flat.Content = append(flat.Content, root.Content[i], root.Content[i+1])
		}
	}
	if len(flat.Content) == 0 {
		return nil
	}
	var err error
	if s.flat, err = placed(flat); err != nil {
		return errors.New(withoutValues(err))
	}
	return nil
}

var (
	quoted = regexp.MustCompile("(?s)`.*?` into ") // a value may have a quote in it
	inType = regexp.MustCompile(`not found in type .*`)
)

// withoutValues is the text of an error of the reader of YAML, without what it repeats of the file,
// which may be a password, and without types of Go.
func withoutValues(err error) string {
	text := quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "the value into ")
	return "this is not a valid file: " + inType.ReplaceAllString(text, "not found")
}

// expandURLs reads the settings of each of several generators, and replaces references to variables.
func (a *app) expandURLs(s *serveSettings) error {
	lookup := a.lookupEnv // UNALIKE_TTL and so on are of no single one of several
	for _, key := range config.Keys() {
		lookup = without(lookup, envPrefix+strings.ToUpper(key))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Generators)) {
		node := s.Generators[name]
		if node.Kind == yaml.AliasNode {
			node = *node.Alias
		}
		if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
			return fmt.Errorf("generators: %s: line %d: it has no settings; write {coordinator: URL}", name, node.Line)
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
		if _, err := driver.ParseURL(s.Store); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		cfg, err := config.Config{Coordinator: s.Store}.WithEnv(lookup)
		if err != nil {
			return errors.New("store: " + strings.TrimPrefix(err.Error(), "config: coordinator: "))
		}
		s.Store = cfg.Coordinator
	}
	return nil
}

// check checks what does not depend on anything else.
func (s *serveSettings) check() error {
	switch {
	case s.MaxCount < 0 || s.MaxCount > 1_000_000:
		return fmt.Errorf("max_count is %d; it is a whole number from 1 to 1000000, or left out for %d", s.MaxCount, server.DefaultMaxCount)
	case s.MaxWait < 0 || s.MaxWait > time.Hour:
		return fmt.Errorf("max_wait is %v; it is a duration of up to 1h, or left out for %v", s.MaxWait, server.DefaultMaxWait)
	case (s.TLS.Cert == "") != (s.TLS.Key == ""):
		return errors.New("tls: cert and key go together")
	case s.TLS.ClientCA != "" && s.TLS.Cert == "":
		return errors.New("tls: client_ca needs cert and key")
	case s.Leaf != nil && s.Leaf.May != "" && s.Leaf.May != "anyone" && s.Leaf.May != "generate":
		return errors.New("leaf: may is anyone, or generate, which needs a token")
	}
	for name := range s.Generators {
		if err := server.CheckName(name); err != nil {
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

// readTokens reads the tokens; nil if there are none.
func (s *serveSettings) readTokens() (*server.Tokens, error) {
	var files []server.TokenFile
	for i, t := range s.Tokens {
		f := server.TokenFile{Path: t.File}
		for _, may := range t.May {
			switch may {
			case "generate":
				f.May |= server.Generate
			case "operate":
				f.May |= server.Operate
			default:
				return nil, fmt.Errorf("tokens: number %d may %.40q; generate and operate are known", i+1, may)
			}
		}
		if t.File == "" || f.May == 0 {
			return nil, fmt.Errorf("tokens: number %d lacks file or may; write {file: PATH, may: [generate]}", i+1)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, nil
	}
	return server.NewTokens(files)
}
