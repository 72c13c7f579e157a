package history

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// write makes the files of several processes.
func write(t *testing.T, files ...[]call) []string {
	t.Helper()
	var paths []string
	for _, calls := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "history"))
		if err != nil {
			t.Fatal(err)
		}
		out := json.NewEncoder(f)
		for i, c := range calls {
			c.begin.Call = int64(i) + 1
			if err := out.Encode(c.begin); err != nil {
				t.Fatal(err)
			}
			if c.end != nil {
				c.end.Call = c.begin.Call
				if err := out.Encode(c.end); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, f.Name())
	}
	return paths
}

// g is a grant of worker ID 7.
func g(token string, generation uint64, notBefore, notAfter int64) *grant {
	return &grant{Worker: 7, Generation: generation, Token: token, NotBefore: notBefore, NotAfter: notAfter}
}

func acquire(out *grant) call {
	return call{begin: line{Op: opAcquire, Token: out.Token, Workers: &coord.Range{Count: 16}}, end: &line{Grant: out}}
}

// renew extends a window to a tick.
func renew(old *grant, notAfter int64) call {
	out := *old
	out.NotAfter = notAfter
	return call{begin: line{Op: opRenew, Grant: old}, end: &line{Grant: &out}}
}

// jump gives a separate piece.
func jump(old *grant, notBefore, notAfter int64) call {
	c := renew(old, notAfter)
	c.end.Grant.NotBefore = notBefore
	return c
}

func resume(old *grant, token string, notAfter int64) call {
	c := renew(old, notAfter)
	c.begin.Op, c.begin.Token = opResume, token
	c.end.Grant.Token, c.end.Grant.Generation = token, old.Generation+1
	return c
}

func release(old *grant, last int64) call {
	return call{begin: line{Op: opRelease, Grant: old, Last: last}, end: &line{}}
}

func retire(worker int) call { return call{begin: line{Op: opRetire, Worker: worker}, end: &line{}} }

func refused(c call) call {
	c.end = &line{Error: "lost", Lost: true}
	return c
}

func failed(c call) call {
	c.end = &line{Error: "no reply"}
	return c
}

func killed(c call) call {
	c.end = nil
	return c
}

// during sets when a call took place.
func during(from, to int64, c call) call {
	c.begin.At = from
	if c.end != nil {
		c.end.At = to
	}
	return c
}

// inOrder lets each call begin after the one before it has ended.
func inOrder(calls ...call) []call {
	for i := range calls {
		calls[i] = during(int64(10*i+1), int64(10*i+5), calls[i])
	}
	return calls
}

// a, b and c are grants one after the other. wide is a renewed.
var (
	a    = g("a", 1, 0, 10)
	wide = g("a", 1, 0, 20)
	b    = g("b", 2, 20, 30)
	c    = g("c", 3, 30, 40)
)

func TestLegalHistories(t *testing.T) {
	for name, calls := range map[string][]call{
		"nothing":                              nil,
		"one after the other":                  inOrder(acquire(a), renew(a, 20), acquire(b), refused(renew(wide, 30)), release(b, 22), acquire(g("c", 3, 22, 40))),
		"released":                             inOrder(acquire(a), release(a, 4), acquire(g("b", 2, 4, 14))),
		"released unused":                      inOrder(acquire(g("a", 1, 8, 20)), release(g("a", 1, 8, 20), 0), acquire(g("b", 2, 8, 14))),
		"an acquisition repeated":              inOrder(acquire(a), renew(a, 20), acquire(wide), renew(wide, 25)),
		"a piece and its end":                  inOrder(acquire(a), jump(a, 50, 60), renew(a, 70), release(a, 7), acquire(g("b", 2, 50, 80))),
		"generations may be left out":          inOrder(acquire(a), acquire(g("b", 9, 10, 20))),
		"a release whose reply was lost":       inOrder(acquire(a), failed(release(a, 4)), acquire(g("b", 2, 4, 14)), refused(release(a, 4))),
		"a release that was lost":              inOrder(acquire(a), failed(release(a, 4)), refused(renew(a, 20)), acquire(g("b", 2, 10, 14))),
		"a release that comes later":           inOrder(acquire(a), killed(release(a, 4)), renew(a, 20), acquire(g("b", 2, 4, 14))),
		"a release refused":                    inOrder(acquire(a), refused(release(a, 4)), acquire(g("b", 2, 4, 14))),
		"a renewal whose reply was lost":       inOrder(acquire(a), failed(renew(a, 20)), acquire(b)),
		"a renewal that was lost":              inOrder(acquire(a), failed(renew(a, 20)), acquire(g("b", 2, 10, 30))),
		"refused for an unknown acquisition":   inOrder(acquire(a), failed(acquire(b)), refused(renew(a, 20))),
		"refused for one that was killed":      inOrder(acquire(a), killed(acquire(b)), refused(renew(a, 20)), acquire(c)),
		"resumed":                              inOrder(acquire(a), resume(a, "b", 30), refused(renew(a, 40)), renew(g("b", 2, 0, 30), 40), refused(resume(a, "c", 40))),
		"resumed, the reply was lost":          inOrder(acquire(a), failed(resume(a, "b", 30)), refused(renew(a, 40)), renew(g("b", 2, 0, 30), 40)),
		"resumed twice":                        inOrder(acquire(a), resume(a, "b", 30), resume(a, "b", 30)),
		"resumed, unknown, and again":          inOrder(acquire(a), failed(resume(a, "b", 30)), renew(g("b", 2, 0, 30), 40), resume(a, "b", 50)),
		"retired":                              inOrder(acquire(a), retire(7), refused(renew(a, 20))),
		"a retirement of unknown outcome":      inOrder(acquire(a), failed(retire(7)), refused(renew(a, 20))),
		"another one retired":                  inOrder(acquire(a), retire(8), renew(a, 20)),
		"renewals in another order":            {during(1, 2, acquire(a)), during(3, 9, renew(a, 20)), during(4, 8, renew(a, 30))},
		"an acquisition beside a last renewal": {during(1, 2, acquire(a)), during(3, 9, refused(renew(a, 20))), during(4, 8, acquire(g("b", 2, 10, 20)))},
		"what is under way counts either way":  {during(1, 2, acquire(a)), during(3, 9, renew(a, 20)), during(4, 8, acquire(b))},
	} {
		out, err := Check(write(t, calls), limit)
		if err != nil || out.Illegal != nil || out.Undecided != nil || out.Calls != len(calls) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

func TestIllegalHistories(t *testing.T) {
	for _, c := range []struct {
		name    string
		allowed []Rule // rules under which it is legal
		calls   []call
	}{
		{"a window begins inside the former one", nil, inOrder(acquire(a), acquire(g("b", 2, 9, 20)))},
		{"a window begins before a renewal's end", nil, inOrder(acquire(a), renew(a, 20), acquire(g("b", 2, 19, 30)))},
		{"a window begins below a release", nil, inOrder(acquire(a), release(a, 4), acquire(g("b", 2, 3, 20)))},
		{"a release lowered the end under the window", nil, inOrder(acquire(g("a", 1, 8, 20)), release(g("a", 1, 8, 20), 0), acquire(g("b", 2, 7, 14)))},
		{"a release lowered the end under a piece", nil, inOrder(acquire(a), jump(a, 50, 60), release(a, 7), acquire(g("b", 2, 49, 80)))},
		{"a lost release beside one that was lower", nil, inOrder(acquire(a), failed(release(a, 4)), acquire(g("b", 2, 3, 14)))},
		{"a release of a former holder lowers the end", nil, inOrder(acquire(a), renew(a, 20), acquire(b), killed(release(wide, 4)), acquire(g("c", 3, 4, 40)))},
		{"a former holder's renewal", nil, inOrder(acquire(a), renew(a, 20), acquire(b), renew(wide, 25))},
		{"a former holder's release", []Rule{StateLost}, inOrder(acquire(a), renew(a, 20), acquire(b), release(wide, 4))},
		{"a renewal after a release", nil, inOrder(acquire(a), release(a, 4), renew(a, 20))},
		{"a renewal after a refusal", nil, inOrder(acquire(a), failed(acquire(b)), refused(renew(a, 20)), renew(a, 20))},
		{"a renewal after a refused release", nil, inOrder(acquire(a), refused(release(a, 4)), renew(a, 20))},
		{"a renewal nobody acquired for", nil, inOrder(renew(a, 20))},
		{"a renewal of a former generation", nil, inOrder(acquire(a), acquire(g("a", 2, 10, 20)), renew(a, 30))},
		{"a renewal lowers the end", nil, inOrder(acquire(a), renew(a, 30), renew(a, 20))},
		{"a generation that was there", []Rule{StateLost}, inOrder(acquire(a), acquire(g("b", 1, 10, 20)))},
		{"an old acquisition again", nil, inOrder(acquire(a), renew(a, 20), acquire(b), acquire(wide))},
		{"a repeated acquisition forgets a renewal", nil, inOrder(acquire(a), renew(a, 20), acquire(a))},
		{"refused though held", []Rule{LeasesLost, StateLost}, inOrder(acquire(a), refused(renew(a, 20)))},
		{"refused before the reason began", []Rule{LeasesLost, StateLost}, inOrder(acquire(a), refused(renew(a, 20)), failed(acquire(b)))},
		{"refused for the sake of others", []Rule{LeasesLost, StateLost}, inOrder(acquire(a), failed(call{begin: line{Op: opAcquire, Workers: &coord.Range{First: 8, Count: 4}}}), refused(renew(a, 20)))},
		{"resumed by two", nil, inOrder(acquire(a), resume(a, "b", 20), resume(a, "c", 20))},
		{"resumed and renewed", nil, inOrder(acquire(a), resume(a, "b", 20), renew(a, 20))},
		{"resumed, unknown, and both", nil, inOrder(acquire(a), failed(resume(a, "b", 20)), renew(g("b", 2, 0, 20), 30), renew(a, 30))},
		{"acquired after retirement", []Rule{StateLost}, inOrder(acquire(a), retire(7), acquire(g("b", 2, 10, 20)))},
		{"renewed after retirement", []Rule{StateLost}, inOrder(acquire(a), retire(7), renew(a, 20))},
		{"a former holder's piece", []Rule{StateLost}, inOrder(acquire(a), renew(a, 20), acquire(b), jump(wide, 30, 50))},
		{"a former holder's piece below the end", nil, inOrder(acquire(a), renew(a, 20), acquire(b), jump(wide, 29, 50))},

		{"another token", nil, inOrder(call{begin: line{Op: opAcquire, Token: "b", Workers: &coord.Range{Count: 16}}, end: &line{Grant: a}})},
		{"a worker ID that was not asked for", nil, inOrder(call{begin: line{Op: opAcquire, Token: "a", Workers: &coord.Range{Count: 7}}, end: &line{Grant: a}})},
		{"generation 0", nil, inOrder(acquire(g("a", 0, 0, 10)))},
		{"a window after the last tick", nil, inOrder(call{begin: line{Op: opAcquire, Token: "a", Workers: &coord.Range{Count: 16}, LastTick: 9}, end: &line{Grant: a}})},
		{"a window that ends before it begins", nil, inOrder(acquire(g("a", 1, 10, 9)))},
		{"a renewal of something else", nil, inOrder(acquire(a), call{begin: line{Op: opRenew, Grant: a}, end: &line{Grant: g("a", 2, 0, 20)}})},
		{"a piece inside the window", nil, inOrder(acquire(a), jump(a, 10, 30))},
		{"a renewal that ends earlier", nil, inOrder(acquire(a), renew(a, 9))},
	} {
		for _, rules := range [][]Rule{nil, {LeasesLost}, {StateLost}, {LeasesLost, StateLost}} {
			legal := false
			for _, r := range c.allowed {
				for _, given := range rules {
					legal = legal || r == given
				}
			}
			out, err := Check(write(t, c.calls), limit, rules...)
			if err != nil || (out.Illegal == nil) != legal || out.Undecided != nil {
				t.Errorf("%s, rules %v: %+v, %v", c.name, rules, out, err)
			}
		}
	}
}

func TestReportNamesTheCall(t *testing.T) {
	other := *a
	other.Worker = 8
	paths := write(t, inOrder(acquire(a), renew(a, 20), acquire(&other)), []call{during(100, 110, acquire(g("b", 2, 19, 30)))})
	out, err := Check(paths, limit)
	if err != nil || len(out.Illegal) != 1 || out.Workers != 2 || out.Unclear != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, part := range []string{`worker ID 7: of 3 calls`, `held by "a", generation 1, NotBefore 0, end 20`, paths[1] + ` call 1: acquire token "b" returned worker ID 7, generation 2, token "b", window (19, 30]`} {
		if !strings.Contains(out.Illegal[0], part) {
			t.Errorf("%q does not have %q", out.Illegal[0], part)
		}
	}
}

// TestSearchEnds has a worker ID that needs a long search: each release may come anywhere.
func TestSearchEnds(t *testing.T) {
	calls := []call{acquire(a)}
	for i := range 60 {
		calls = append(calls, failed(release(a, int64(i%9+1))), renew(a, int64(20+i)))
	}
	calls = append(calls, acquire(g("b", 2, 0, 100)))
	out, err := Check(write(t, inOrder(calls...)), 1)
	if err != nil || len(out.Undecided) != 1 || out.Undecided[0] != 7 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestDamagedFiles(t *testing.T) {
	begin := `{"call":1,"op":"retire","at":5}` + "\n"
	for name, c := range map[string]struct {
		text string
		want string // empty: it is read
	}{
		"empty":                         {"", ""},
		"killed in the first line":      {`{"call":1,"op":"ret`, ""},
		"killed in an end":              {begin + `{"call":1,`, ""},
		"sound":                         {begin + `{"call":1,"at":6}` + "\n", ""},
		"broken line":                   {begin + "{\n", "line 2"},
		"a call left out":               {begin + `{"call":3,"op":"retire","at":6}` + "\n", "begins call 3 after call 1"},
		"an end without a begin":        {`{"call":1,"at":6}` + "\n", "ends call 1, which has no begin"},
		"two ends":                      {begin + strings.Repeat(`{"call":1,"at":6}`+"\n", 2), "which has an end"},
		"an end before its begin":       {begin + `{"call":1,"at":4}` + "\n", "before its begin"},
		"another operation":             {`{"call":1,"op":"steal","at":5}` + "\n", `"steal"`},
		"a renewal of nothing":          {`{"call":1,"op":"renew","at":5}` + "\n", "has no grant"},
		"an acquisition without range":  {`{"call":1,"op":"acquire","at":5}` + "\n", "no worker IDs"},
		"an acquisition without result": {`{"call":1,"op":"acquire","at":5,"workers":{}}` + "\n" + `{"call":1,"at":6}` + "\n", "without its grant"},
	} {
		path := filepath.Join(t.TempDir(), "history")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Check([]string{path}, limit)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	if _, err := Check([]string{t.TempDir() + "/none"}, limit); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}
