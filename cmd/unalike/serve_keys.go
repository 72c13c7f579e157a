package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/internal/spelling"
)

// serveKey is a key of the file of serve beside those of package config.
type serveKey struct {
	name string
	form string // what its value is
	// those of a value, or of each part of one; nil: any, or it has none
	members []string
	// where the value goes; nil: it is one of package config about tags
	to any
}

// keys returns all of them.
func (s *serveSettings) keys() []serveKey {
	return []serveKey{
		{"listen", "an address: host:port", nil, &s.Listen},
		{"admin_listen", "an address: host:port, or unix:PATH", nil, &s.AdminListen},
		{"generators", "a mapping: {NAME: {coordinator: URL}}", nil, &s.Generators},
		{"store", "a URL", nil, &s.Store},
		{name: "formats"},
		{name: "max_step"},
		{name: "hold"},
		{name: "year_start"},
		{name: "zone"},
		{
			"tokens", "a list: [{file: PATH, may: [generate]}]",
			[]string{"file", "may", "ids_per_second"},
			&s.Tokens,
		},
		{"leaf", "a mapping: {may: anyone}", []string{"may"}, &s.Leaf},
		{
			"tls", "a mapping: {cert: PATH, key: PATH, client_ca: PATH}",
			[]string{"cert", "key", "client_ca"},
			&s.TLS,
		},
		{"hosts", "a list of names: [ids.example.com]", nil, &s.Hosts},
		{"ready", "all or any", nil, &s.Ready},
		{"access_log", "off, errors or all", nil, &s.AccessLog},
		{"max_count", "a whole number", nil, &s.MaxCount},
		{"max_wait", "a duration with a unit, for example 30s", nil, &s.MaxWait},
		{"max_connections", "a whole number", nil, &s.MaxConnections},
		{"max_connection_age", "a duration with a unit, for example 10m", nil, &s.MaxConnectionAge},
		{"max_streams", "a whole number", nil, &s.MaxStreams},
		{"max_watches", "a whole number", nil, &s.MaxWatches},
		{"max_reply_bytes", "a whole number of bytes", nil, &s.MaxReplyBytes},
	}
}

// readKeys reads the keys of serve from the file, and returns the others. It reports all mistakes
// at once.
func (s *serveSettings) readKeys(root *yaml.Node) (others *yaml.Node, err error) {
	others, tags := &yaml.Node{Kind: yaml.MappingNode}, &yaml.Node{Kind: yaml.MappingNode}
	keys, lines := s.keys(), map[string]int{}
	var errs []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		line, twice := lines[key.Value]
		lines[key.Value] = key.Line
		known := slices.Contains(settings.Keys, key.Value)
		at := slices.IndexFunc(keys, func(k serveKey) bool { return k.name == key.Value })
		switch {
		case key.Kind != yaml.ScalarNode:
			errs = append(errs, fmt.Errorf("line %d: a key that is no word", key.Line))
		case twice:
			errs = append(errs, fmt.Errorf("line %d: %s is already set in line %d", key.Line, key.Value,
				line))
		case at >= 0 && keys[at].to == nil:
			tags.Content = append(tags.Content, key, value)
		case at >= 0:
			s.own = s.own || !known
			errs = append(errs, keys[at].read(value))
		case known:
			others.Content = append(others.Content, key, value)
		default:
			errs = append(errs, fmt.Errorf("line %d: %s", key.Line,
				spelling.UnknownKey(key.Value, s.allKeys())))
		}
	}
	if len(tags.Content) > 0 {
		text, err := placed(tags)
		if err == nil {
			s.texts, err = config.Parse(text)
		}
		errs = append(errs, err)
	}
	return others, errors.Join(errs...)
}

// read reads the value of a key.
func (k *serveKey) read(value *yaml.Node) error {
	if err := k.checkMembers(value); err != nil {
		return err
	}
	if err := value.Decode(k.to); err != nil || value.ShortTag() == "!!float" {
		// which would be cut off
		return fmt.Errorf("line %d: %s%s is not right; it is %s", value.Line, k.name, shown(value),
			k.form)
	}
	return nil
}

// harmless is what a value may be to be repeated: no URL and nothing like a password.
var harmless = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,20}$`)

// shown repeats a value, unless it may be a password.
func shown(value *yaml.Node) string {
	if value.Kind != yaml.ScalarNode || !harmless.MatchString(value.Value) {
		return ""
	}
	return fmt.Sprintf(": %q", value.Value)
}

// checkMembers refuses members that a value does not have, in a mapping or in each of a list.
func (k *serveKey) checkMembers(value *yaml.Node) error {
	var errs []error
	switch {
	case k.members == nil:
	case value.Kind == yaml.SequenceNode:
		for _, part := range value.Content {
			errs = append(errs, k.checkMembers(part))
		}
	case value.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(value.Content); i += 2 {
			if name := value.Content[i]; !slices.Contains(k.members, name.Value) {
				errs = append(errs, fmt.Errorf("line %d: %s: %s", name.Line, k.name,
					spelling.UnknownKey(name.Value, k.members)))
			}
		}
	}
	return errors.Join(errs...)
}

// allKeys are those of serve and those of a generator.
func (s *serveSettings) allKeys() (names []string) {
	for _, k := range s.keys() {
		names = append(names, k.name)
	}
	for _, key := range settings.Keys {
		if key != "segments" && !slices.Contains(names, key) { // tags are those of the store
			names = append(names, key)
		}
	}
	return names
}
