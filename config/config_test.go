package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	_ "github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
)

// values has for each key a value, and a test of what it makes of a Config.
var values = []struct {
	key, value, other string
	check             func(Config) bool
}{
	{
		"coordinator", "static://?worker=7", "static://?worker=8",
		func(c Config) bool { return c.Coordinator == "static://?worker=7" },
	},
	{
		"state", "/var/lib/orders/unalike.state", "/tmp/other",
		func(c Config) bool { return c.StateFile == "/var/lib/orders/unalike.state" },
	},
	{
		"layout", "twitter", "javascript",
		func(c Config) bool { return c.Layout.String() == core.TwitterLayout().String() },
	},
	{"ttl", "20s", "30s", func(c Config) bool { return c.Lease.TTL == 20*time.Second }},
	{"horizon", "1m30s", "2m", func(c Config) bool { return c.Lease.Horizon == 90*time.Second }},
	{
		"renew", "500ms", "1s",
		func(c Config) bool { return c.Lease.RenewEvery == 500*time.Millisecond },
	},
	{
		"worker_ids", "512-767", "0-",
		func(c Config) bool { return c.Lease.WorkerIDs == coord.Range{First: 512, Count: 256} },
	},
	{"identity", "orders-0", "7", func(c Config) bool { return c.Lease.Identity == "orders-0" }},
	{"rollback_tolerance", "0s", "1ms", func(c Config) bool { return c.RollbackTolerance == -1 }},
	{"lead", "3ms", "0s", func(c Config) bool { return c.Lead == 3*time.Millisecond }},
	{"spread_below", "256", "0", func(c Config) bool { return c.SpreadBelow == 256 }},
	{"stripes", "4", "1", func(c Config) bool { return c.Stripes == 4 }},
	{
		"store", "embed:///var/lib/numbers", "etcd://e1,e2/orders",
		func(c Config) bool { return c.Store == "embed:///var/lib/numbers" },
	},
	{
		"segments", "orders, line items", "orders",
		func(c Config) bool { return slices.Equal(c.Segments, []string{"orders", "line items"}) },
	},
	{
		"formats", "orders={YYYY-MM}-{n:6}, line items=L{n}", "orders={n}",
		func(c Config) bool {
			return len(c.Formats) == 2 &&
				c.Formats["orders"].String() == "{YYYY-MM}-{n:6}"
		},
	},
	{
		"max_step", "orders=10,line items=1", "orders=9",
		func(c Config) bool { return c.MaxSteps["orders"] == 10 && c.MaxSteps["line items"] == 1 },
	},
	{
		"hold", "orders=1m0s", "orders=1s",
		func(c Config) bool { return c.Holds["orders"] == time.Minute },
	},
	{"year_start", "4", "12", func(c Config) bool { return c.YearStart == time.April }},
	{
		"zone", "Europe/Berlin", "UTC",
		func(c Config) bool { return c.Zone.String() == "Europe/Berlin" },
	},
	{"start_timeout", "3m", "2s", func(c Config) bool { return c.StartTimeout == 3*time.Minute }},
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// TestKeys: each key works in the file and in the environment, which wins, and in
// quotes.
func TestKeys(t *testing.T) {
	table := new(Config).table()
	for i, key := range settings.Keys {
		if len(table) != len(settings.Keys) || table[i].key != key {
			t.Fatalf("the table of settings does not have %s in its place", key)
		}
	}
	if len(values) != len(settings.Keys) {
		t.Errorf("%d keys are tested, there are %d", len(values), len(settings.Keys))
	}
	for _, v := range values {
		t.Run(v.key, func(t *testing.T) {
			for _, form := range []string{"%s: %s", "%s: '%s'\n", "---\n{%s: \"%s\"}\n...\n"} {
				text := fmt.Sprintf(form, v.key, v.value)
				if c, err := Parse([]byte(text)); err != nil || !v.check(c) {
					t.Errorf("%q: %v, %v", text, c, err)
				}
			}
			file, err := Parse([]byte(v.key + ": " + v.other))
			if err != nil || v.check(file) {
				t.Fatalf("%v, %v", file, err)
			}
			env := map[string]string{settings.EnvName(v.key): v.value, "UNALIKE_PORT": "tcp://10.0.0.1:80"}
			c, err := file.WithEnv(lookupIn(env))
			if err != nil || !v.check(c) || v.check(file) {
				t.Errorf("%v, %v; the file's %v", c, err, file)
			}
			if !strings.Contains(c.String(), v.key+"=") {
				t.Errorf("%q does not show %s", c, v.key)
			}
			env[settings.EnvName(v.key)] = ""
			if c, err = file.WithEnv(lookupIn(env)); err != nil || c.String() != file.String() {
				t.Errorf("an empty variable: %v, %v", c, err)
			}
		})
	}
}

// checkInvalid checks that err says all of that, and no password.
func checkInvalid(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "s3cr") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
		return
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	all := strings.Join(settings.Keys, ", ")
	bomb := "a: &a [x,x]\n"
	for i := range 25 {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c]\n", 'b'+i, 'b'+i, 'a'+i, 'a'+i)
	}
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "config: f: the file is empty; the known keys are " + all},
		{"null", "null\n", "config: f:1: the file is not a mapping; write lines of the form key: value"},
		{
			"two documents", "ttl: 1s\n---\nttl: 2s\n",
			"config: f:2: a second document begins here; a file has one",
		},
		{"not UTF-8", "ttl: 1s\nidentity: \xff\n", "config: f:2: this is not valid UTF-8"},
		{
			"too large", "# " + strings.Repeat("x", settings.MaxFile),
			"config: f: the file has more than 65536 bytes",
		},
		{
			"not YAML", "ttl: [\n",
			"config: f: this is not valid YAML: line 1: did not find expected node content",
		},
		{
			"unknown alias", "coordinator: *secret\n",
			"config: f: this is not valid YAML: an alias refers to no anchor",
		},
		{"bomb", bomb, "config: f:1: unknown key \"a\""},
		{
			"anchor", "ttl: &x 1s\nhorizon: *x\n",
			"config: f:1: ttl has an anchor or an alias; write the value itself",
		},
		{"merge", "<<: {ttl: 1s}\n", "config: f:1: unknown key \"<<\"; known are " + all},
		{"tag", "ttl: !!str 1s\n", "config: f:1: ttl has a tag"},
		{
			"key twice", "ttl: 1s\nhorizon: 3s\nttl: 1s\n",
			"config: f:3: ttl is set a second time; it is in line 1 already",
		},
		{"unknown key", "tll: 1s\n", "config: f:1: unknown key \"tll\"; did you mean ttl? Known are " +
			all},
		{"hyphen", "worker-ids: 0-5\n", "did you mean worker_ids?"},
		{
			"URL as key", "redis://user:secret@host: x\n",
			"config: f:1: unknown key not shown, as it may contain a password",
		},
		{"key that is a list", "? [a]\n: 1\n", "config: f:1: a key that is no word; known are " + all},
		{
			"no value", "ttl:\n",
			"config: f:1: ttl has no value; write one, or leave the key out for the default",
		},
		{"list as value", "ttl: [1s]\n", "config: f:1: ttl has several values; it has a single one"},
		{
			"URL in another key", "ttl: redis://user:secret@host\n",
			"config: f:1: ttl is not shown, as it may contain a password: it is a positive duration",
		},

		{
			"no unit", "ttl: 10\n",
			"config: f:1: ttl is \"10\": it is a positive duration with a unit, for example 15s or 500ms; " +
				"leave the key out",
		},
		{
			"below a nanosecond", "lead: 0.1ns\n",
			"config: f:1: lead is \"0.1ns\": it is 0s or a positive duration",
		},
		{
			"negative lead", "lead: -1ms\n",
			"config: f:1: lead is \"-1ms\": it is 0s or a positive duration with a unit, for example 5ms",
		},
		{
			"octal", "spread_below: 010\n",
			"config: f:1: spread_below is \"010\": it is a whole number from 0 on",
		},
		{
			"one worker ID", "worker_ids: 7\n",
			"config: f:1: worker_ids is \"7\": it is the first and the last worker ID, for example 0-511, " +
				"or 512- for all from 512 on",
		},
		{"identity too long", "identity: " + strings.Repeat("x", 129) + "\n", "at most 128 are allowed"},
		{
			"layout", "layout: Twitter\n",
			"config: f:1: layout is \"Twitter\": core: invalid layout: \"Twitter\" is neither a name " +
				"(default, twitter, javascript)",
		},
		{
			"URL", "coordinator: orders\n",
			"config: f:1: coordinator: unalike: invalid URL: it has the form scheme://",
		},
		{
			"empty segment", "segments: orders,,invoices\n",
			"config: f:1: segments is \"orders,,invoices\": it is tags with commas between them, for " +
				"example orders,invoices; each has 1 to 128 characters of printable UTF-8",
		},
		{
			"segment twice", "segments: orders, orders\n",
			"config: f:1: segments is \"orders, orders\": a tag stands in it twice; name each once",
		},
		{
			"reference in a host", "coordinator: etcd://${HOST}/ns\n",
			"config: f:1: coordinator: ${NAME} is allowed in place of the user and of the password alone",
		},
		{
			"reference without end", "coordinator: etcd://u:${SECRET@h/ns\n",
			"config: f:1: coordinator: a reference to a variable has the form ${NAME}",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parser{path: "f", lines: map[string]int{}}.parse([]byte(tt.file))
			if err == nil {
				t.Fatalf("no error, but %v", c)
			}
			checkInvalid(t, err, tt.want)
			if c.String() != "" {
				t.Errorf("with the error comes %v", c)
			}
		})
	}
}

// TestAllMistakesAtOnce: nobody has to run a program five times to repair a file.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := Parse([]byte("tll: 1s\nttl: 1\nstripes: 0\n"))
	checkInvalid(t, err, "line 1: unknown key", "line 2: ttl is \"1\"", "line 3: stripes is \"0\"")
	_, err = Config{}.WithEnv(lookupIn(map[string]string{"UNALIKE_TTL": "1", "UNALIKE_STRIPES": "x"}))
	checkInvalid(t, err, "config: UNALIKE_TTL: ttl is \"1\"",
		"config: UNALIKE_STRIPES: stripes is \"x\"")
}

func TestByteOrderMark(t *testing.T) {
	if c, err := Parse([]byte("\ufeffttl: 3s\r\n")); err != nil || c.Lease.TTL != 3*time.Second {
		t.Errorf("%v, %v", c, err)
	}
}

func TestLoad(t *testing.T) {
	for _, key := range settings.Keys {
		t.Setenv(settings.EnvName(key), "")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "unalike.yaml")
	if err := os.WriteFile(path, []byte("ttl: 3s\nstripes: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("UNALIKE_TTL", "4s")
	if c, err := Load(path); err != nil || c.Lease.TTL != 4*time.Second || c.Stripes != 2 {
		t.Errorf("Load: %v, %v", c, err)
	}
	if c, err := (Config{}).WithFile(path); err != nil || c.Lease.TTL != 3*time.Second {
		t.Errorf("WithFile: %v, %v", c, err)
	}
	if c, err := FromEnv(); err != nil || c.Lease.TTL != 4*time.Second || c.Stripes != 0 {
		t.Errorf("FromEnv: %v, %v", c, err)
	}
	missing := filepath.Join(dir, "none.yaml")
	_, err := Load(missing)
	if checkInvalid(t, err, missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, bad := range []string{"", dir} {
		_, err := Load(bad)
		checkInvalid(t, err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("\n"), settings.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Load(large)
	checkInvalid(t, err, "large.yaml: the file has more than")
}

func TestSecrets(t *testing.T) {
	c, err := Parse([]byte("coordinator: redis+x://${WHO}:a${PASS}@h:6379/0?namespace=n\n" +
		"store: mysql://app:${B}@h/db\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Open(t.Context())
	checkInvalid(t, err, "${WHO} was not replaced; load the file with Load, or call WithEnv")
	env := map[string]string{"WHO": "me", "PASS": "s3cr@t/ +?%:${WHO}", "B": "s3cr@2"}
	full, err := c.WithEnv(lookupIn(env))
	if err != nil {
		t.Fatal(err)
	}
	u, err := driver.ParseURL(full.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := u.User.Password(); p != "a"+env["PASS"] || u.User.Username() != "me" ||
		u.Hosts[0] != "h:6379" || full.Store != "mysql://app:s3cr%402@h/db" || c.Store == full.Store {
		t.Errorf("%q as %q", p, u.User.Username())
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", full)
	shown := []string{log.String(), full.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, full), fmt.Sprintf(verb, &full),
			fmt.Sprintf(verb, []Config{full}))
	}
	for _, s := range shown {
		if strings.Contains(s, "s3cr") || !strings.Contains(s, "redis") {
			t.Errorf("shown as %s", s)
		}
	}
	misspelt := Config{Coordinator: "redis-sentinel://h/m/0?namespace=n&sentinel_pasword=s3cr"}
	if got := misspelt.String(); strings.Contains(got, "s3cr") {
		t.Errorf("a password under a misspelt name is shown: %s", got)
	}
	delete(env, "PASS")
	_, err = c.WithEnv(lookupIn(env))
	checkInvalid(t, err,
		"config: line 1: coordinator: ${PASS} refers to a variable that is not set or empty")
	env["UNALIKE_COORDINATOR"] = "static://?worker=1"
	if got, err := c.WithEnv(lookupIn(env)); err != nil || got.Coordinator != "static://?worker=1" {
		t.Errorf("what the environment replaces needs no password: %v, %v", got, err)
	}
}

// TestMisspelledVariable: a variable that is nearly one of ours is an error that names the right
// one, as is one in small letters. Others that begin alike are left alone, and so is what the
// lookup does not have.
func TestMisspelledVariable(t *testing.T) {
	for name, want := range map[string]string{
		"UNALIKE_WORKERIDS": "config: UNALIKE_WORKERIDS is set and is no setting; did you mean " +
			"UNALIKE_WORKER_IDS?",
		"UNALIKE_HORZION": "config: UNALIKE_HORZION is set and is no setting; did you mean " +
			"UNALIKE_HORIZON?",
		"Unalike_Stripe": "config: Unalike_Stripe is set and is no setting; did you mean " +
			"UNALIKE_STRIPES?",
		"UNALIKE_PORT":   "",
		"UNALIKE_URL":    "",
		"UNALIKE_STRICT": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "512-1023")
			_, fromEnv := FromEnv()
			check := settings.CheckEnv(os.LookupEnv)
			for what, err := range map[string]error{"FromEnv": fromEnv, "CheckEnv": check} {
				if want != "" {
					checkInvalid(t, err, want)
				} else if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := settings.CheckEnv(lookupIn(nil)); err != nil {
				t.Errorf("CheckEnv of what is not looked up: %v", err)
			}
		})
	}
}
