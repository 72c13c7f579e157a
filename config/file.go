package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/internal/spelling"
)

// Load reads a file and then the environment, which wins: [Config.WithFile] and
// [Config.WithEnv] with os.LookupEnv.
func Load(path string) (Config, error) {
	c, err := Config{}.WithFile(path)
	if err != nil {
		return Config{}, err
	}
	return c.WithEnv(os.LookupEnv)
}

// WithFile returns c with what a file says in place of what c says. Errors are those of [Parse]
// with the path in front; if the file cannot be read, errors.Is also finds the reason, as
// fs.ErrNotExist.
func (c Config) WithFile(path string) (Config, error) {
	if path == "" {
		return Config{}, invalid("config: the path of the file is empty; name a file")
	}
	data, err := settings.ReadFile(path)
	if err != nil {
		return Config{}, invalid("config: the file cannot be read: %w", err)
	}
	c.origins = maps.Clone(c.origins)
	return parser{path: path, config: c, lines: map[string]int{}}.parse(data)
}

// Parse reads the contents of a file: one YAML document, a mapping of keys to single
// values. The result says what the file says and nothing else; a key that is left out
// keeps its zero value, which means the default.
//
// Errors wrap [coord.ErrInvalid]. They name line, key, value unless that may contain a
// password, and what is allowed; all mistakes are reported at once.
func Parse(data []byte) (Config, error) { return parser{lines: map[string]int{}}.parse(data) }

// parse reads the contents of the file.
func (p parser) parse(data []byte) (Config, error) {
	root, err := p.document(data)
	if err != nil {
		return Config{}, err
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		p.pair(root.Content[i], root.Content[i+1])
	}
	if err := errors.Join(p.errs...); err != nil {
		return Config{}, err
	}
	return p.config, nil
}

// parser reads one file.
type parser struct {
	path   string // "": none
	config Config
	lines  map[string]int // by key: where it was seen
	errs   []error
}

// document returns the mapping that the file consists of.
func (p *parser) document(data []byte) (*yaml.Node, error) {
	if len(data) > settings.MaxFile {
		return nil, p.mistake(0, "the file has more than %d bytes; it holds settings and nothing else",
			settings.MaxFile)
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return nil, p.mistake(i+1, "this is not valid UTF-8")
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, p.mistake(0, "the file is empty; the known keys are %s",
			strings.Join(settings.Keys, ", "))
	case err != nil:
		return nil, p.mistake(0, "%s", describe(err))
	}
	if err := d.Decode(&more); err == nil {
		return nil, p.mistake(more.Line, "a second document begins here; a file has one")
	} else if !errors.Is(err, io.EOF) {
		return nil, p.mistake(0, "%s", describe(err))
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, p.mistake(root.Line,
			"the file is not a mapping; write lines of the form key: value, with the keys %s",
			strings.Join(settings.Keys, ", "))
	}
	return root, p.plain(root, "the file")
}

// describe returns what the YAML reader complains of. It repeats a part of the file,
// which may be a password, only about references to anchors.
func describe(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(text, "anchor") {
		text = "an alias refers to no anchor; anchors and aliases are not allowed, and a value that " +
			"begins with * goes in quotes"
	}
	return "this is not valid YAML: " + text
}

// pair reads one key and its value.
func (p *parser) pair(key, value *yaml.Node) {
	s, ok := p.config.find(key.Value)
	if key.Kind != yaml.ScalarNode {
		p.fail(key.Line, "a key that is no word; known are %s", strings.Join(settings.Keys, ", "))
		return
	}
	if !ok {
		p.fail(key.Line, "%s", spelling.UnknownKey(key.Value, settings.Keys))
		return
	}
	if first, twice := p.lines[s.key]; twice {
		p.fail(key.Line, "%s is set a second time; it is in line %d already", s.key, first)
		return
	}
	p.lines[s.key] = key.Line
	switch err := cmp.Or(p.plain(key, s.key), p.plain(value, s.key)); {
	case err != nil:
		p.errs = append(p.errs, err)
	case value.Kind != yaml.ScalarNode:
		p.fail(value.Line, "%s has several values; it has a single one", s.key)
	case value.Tag == "!!null" || value.Value == "":
		p.fail(key.Line, "%s has no value; write one, or leave the key out for the default", s.key)
	default:
		if err := p.config.store(s, value.Value, p.place(key.Line)); err != nil {
			p.errs = append(p.errs, err)
		}
	}
}

// plain refuses what a file of single values has no use for.
func (p *parser) plain(n *yaml.Node, key string) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return p.mistake(n.Line, "%s has an anchor or an alias; write the value itself, and in quotes "+
			"if it begins with & or *", key)
	case n.Style&yaml.TaggedStyle != 0:
		return p.mistake(n.Line, "%s has a tag; write the value itself, and in quotes if it "+
			"begins with !", key)
	}
	return nil
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, p.mistake(line, format, args...))
}

// mistake returns an error with its place; line 0 is the file as a whole.
func (p *parser) mistake(line int, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if where := p.place(line); where != "" {
		text = where + ": " + text
	}
	return invalid("config: %s", text)
}

// place names a line of the file.
func (p *parser) place(line int) string {
	switch {
	case line == 0:
		return p.path
	case p.path == "":
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", p.path, line)
}
