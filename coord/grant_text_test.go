package coord

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
)

// goldenGrant is the text of a grant as the first version has written it. It never changes:
// there are files with it.
const goldenGrant = `unalike-grant v1 worker=7 generation=3 notBefore=89120000 notAfter=89130000 ` +
	`token="4XTFQVZ2 \"ä\""`

func TestGrantText(t *testing.T) {
	want := Grant{
		WorkerID: 7, Generation: 3, Token: `4XTFQVZ2 "ä"`, NotBefore: 89120000,
		NotAfter: 89130000,
	}
	with := want
	with.Handle = new(int)
	text, err := with.MarshalText()
	if err != nil || string(text) != goldenGrant {
		t.Errorf("the text of %v is\n\t%s, %v; want\n\t%s", want, text, err, goldenGrant)
	}
	for _, text := range []string{
		goldenGrant,
		goldenGrant + "\n",
		// What later versions may add.
		goldenGrant + ` nonce="a b=c" lineage=xyz`,
		`unalike-grant v1 notAfter=89130000 added="" worker=7 token="4XTFQVZ2 \"\u00e4\"" generation=3 ` +
			`notBefore=89120000`,
	} {
		got := Grant{Handle: new(int)}
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	largest := Grant{
		WorkerID: math.MaxInt32, Generation: math.MaxUint64,
		Token: strings.Repeat("x", MaxName), NotBefore: math.MaxInt64, NotAfter: math.MaxInt64,
	}
	var got Grant
	if text, err := largest.MarshalText(); err != nil || got.UnmarshalText(text) != nil ||
		got != largest {
		t.Errorf("%v became %s, %v, and then %v", largest, text, err, got)
	}
}

// TestGrantTextTruncated: what has lost its end is no grant, wherever that was.
func TestGrantTextTruncated(t *testing.T) {
	text, err := Grant{WorkerID: 12, Generation: 34, Token: "ab", NotAfter: 56}.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		var g Grant
		if err := g.UnmarshalText(text[:n]); err == nil {
			t.Errorf("%q is %v", text[:n], g)
		}
	}
}

func TestGrantTextRefused(t *testing.T) {
	golden := func(old, new string) string { return strings.Replace(goldenGrant, old, new, 1) }
	for _, tt := range []struct{ text, want string }{
		{"", `"" is not the text of a grant; that begins with "unalike-grant v1"`},
		{"worker=7", `"worker=7" is not the text of a grant; that begins with "unalike-grant v1"`},
		{golden("v1", "v2"), `the text of a grant has version "v2" and this program reads v1; use the ` +
			`program that has written it, or a newer one`},
		{golden(" v1", ""), `the text of a grant has version "worker=7" and this program reads v1; use ` +
			`the program that has written it, or a newer one`},
		{
			golden(" notAfter=89130000", ""),
			`the text of a grant lacks the field "notAfter"; is it truncated?`,
		},
		{goldenGrant + " worker=8", `the text of a grant has the field "worker" twice`},
		{goldenGrant + " new=1 new=1", `the text of a grant has the field "new" twice`},
		{
			golden("worker=7", "worker=07x"),
			`the text of a grant has the field worker=07x: strconv.Atoi: parsing "07x": invalid syntax`,
		},
		{golden("worker=7", "worker=-1"), `Grant.WorkerID is -1; a worker ID is 0 or more`},
		{golden("generation=3", "generation=0"), `Grant.Generation is 0; it starts at 1`},
		{golden("generation=3", "generation=-3"), `the text of a grant has the field generation=-3: ` +
			`strconv.ParseUint: parsing "-3": invalid syntax`},
		{golden("notBefore=89120000", "notBefore=-1"), `Grant.NotBefore is -1; a tick is 0 or more`},
		{golden("notAfter=89130000", "notAfter=8913000"), `Grant.NotAfter is 8913000 and ` +
			`Grant.NotBefore is 89120000; a window does not end before it begins`},
		{golden(`4XTFQVZ2 \"ä\"`, ""), `Grant.Token is empty; 1 to 128 bytes are allowed`},
		{golden(`4XTFQVZ2 `, `\n`), `Grant.Token "\n\"ä\"" contains the unprintable character U+000A`},
		{
			golden(`"4XTFQVZ2 \"ä\""`, "bare"),
			`the text of a grant has the field token=bare: invalid syntax`,
		},
		{
			golden(`"4XTFQVZ2 \"ä\""`, `"open`),
			`the text of a grant has "token=\"open", which is not name=value with a space after it`,
		},
		{golden(" generation", "  generation"), `which is not name=value with a space after it`},
		{golden(" generation", "\ngeneration"), `which is not name=value with a space after it`},
		{goldenGrant + " new", `the text of a grant has "new", which is not name=value with a ` +
			`space after it`},
		{goldenGrant + " new=", `the text of a grant has "new=", which is not name=value with a ` +
			`space after it`},
	} {
		before := Grant{WorkerID: 5, Handle: "kept"}
		g := before
		err := g.UnmarshalText([]byte(tt.text))
		if !errors.Is(err, ErrInvalid) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%q: error is\n\t%v\nwant\n\t%s", tt.text, err, tt.want)
		}
		if g != before {
			t.Errorf("%q is refused, and the grant is %v", tt.text, g)
		}
	}
	for _, g := range []Grant{
		{},
		{Token: "a"},
		{Token: "a", Generation: 1, WorkerID: -1},
		{Token: "a", Generation: 1, NotBefore: 5},
	} {
		if text, err := g.MarshalText(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v has the text %q, %v", g, text, err)
		}
	}
}

// FuzzGrantText: what is read is written, and read again as the same.
func FuzzGrantText(f *testing.F) {
	for _, seed := range []string{
		goldenGrant, goldenGrant + ` new="1" x=y`,
		"unalike-grant v1 token=`a`", "unalike-grant v2", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var g, again Grant
		if err := g.UnmarshalText(text); err != nil {
			if !errors.Is(err, ErrInvalid) || g != (Grant{}) {
				t.Errorf("%q: %v, %v", text, g, err)
			}
			return
		}
		written, err := g.MarshalText()
		if err != nil || strings.ContainsAny(string(written), "\n\r") {
			t.Fatalf("%q is %v, which is %q, %v", text, g, written, err)
		}
		if err := again.UnmarshalText(written); err != nil || again != g {
			t.Errorf("%q is %v, then %q, and then %v, %v", text, g, written, again, err)
		}
	})
}

// A grant in a log does not show the token, in whichever form the log is.
func TestGrantLogged(t *testing.T) {
	var log bytes.Buffer
	g := Grant{WorkerID: 7, Generation: 3, Token: "4XTFQVZ2", NotBefore: 1, NotAfter: 9}
	slog.New(slog.NewTextHandler(&log, nil)).Info("granted", "grant", g)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("granted", "grant", g)
	if text := log.String(); strings.Contains(text, g.Token) ||
		!strings.Contains(text, "grant.workerID=7 grant.generation=3 grant.notBefore=1 "+
			"grant.notAfter=9") ||
		!strings.Contains(text, `"grant":{"workerID":7,"generation":3,"notBefore":1,"notAfter":9}`) {
		t.Errorf("the logs are\n%s", text)
	}
}

// FuzzGrant: a grant that a coordinator can have made survives its text form, and the error
// of any other one names the field.
func FuzzGrant(f *testing.F) {
	f.Add(7, uint64(3), int64(89120000), int64(89130000), `4XTFQVZ2 "ä"`)
	f.Add(0, uint64(math.MaxUint64), int64(0), int64(math.MaxInt64), "`=\\")
	f.Add(-1, uint64(0), int64(-1), int64(-2), "")
	f.Fuzz(func(t *testing.T, worker int, generation uint64, notBefore, notAfter int64, token string) {
		g := Grant{
			WorkerID: worker, Generation: generation, NotBefore: notBefore, NotAfter: notAfter,
			Token: token,
		}
		text, err := g.MarshalText()
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "Grant.") {
				t.Errorf("%v: %v", g, err)
			}
			return
		}
		var back Grant
		if err := back.UnmarshalText(text); err != nil || back != g {
			t.Errorf("%v is %q and then %v, %v", g, text, back, err)
		}
		for cut := range text {
			if err := back.UnmarshalText(text[:cut]); err == nil {
				t.Errorf("the first %d bytes of %q are read as %v", cut, text, back)
			}
		}
	})
}
