package coord

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/internal/drivers"
)

// grantVersion is the version of a grant's text form. What is added to it later and may
// be ignored does not change it.
const grantVersion = "v1"

// grantFields are the fields of a grant's text form, in the order in which they are
// written. The last one ends in a quote, so that no part of a text passes for the whole: a
// number of which digits are missing is one as well.
var grantFields = []string{"worker", "generation", "notBefore", "notAfter", "token"}

// MarshalText returns the grant as one line of readable text without its Handle, which is
// the driver's and does not outlive it:
//
//	unalike-grant v1 worker=7 generation=3 notBefore=89120000 notAfter=89130000 token="4XTFQVZ2"
//
// Later versions of this package read it. Whoever stores it also stores what the grant is of:
// back end, namespace and layout are not in it. Errors wrap [ErrInvalid]: a grant that no
// coordinator has made has no text.
func (g Grant) MarshalText() ([]byte, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "unalike-grant %s worker=%d generation=%d notBefore=%d "+
		"notAfter=%d token=%q", //mutant:grant-text-end
		grantVersion, g.WorkerID, g.Generation, g.NotBefore, g.NotAfter, g.Token), nil
}

// UnmarshalText reads what MarshalText has written, by this version or a later one. The
// Handle is nil afterwards. Fields may come in any order; each of this version has to be
// there, once. Fields that this version does not know are ignored: a later one that adds
// a field without which the grant must not be used writes another version in front, which
// is refused. Errors wrap [ErrInvalid], and leave g as it is.
func (g *Grant) UnmarshalText(text []byte) error {
	read, err := parseGrant(string(bytes.TrimSpace(text)))
	if err == nil {
		err = read.check()
	}
	if err != nil {
		return err
	}
	*g = read
	return nil
}

// check reports whether a coordinator can have made the grant.
func (g Grant) check() error {
	if err := drivers.CheckName(ErrInvalid, "Grant.Token", g.Token, false); err != nil {
		return err
	}
	switch {
	case g.WorkerID < 0:
		return fmt.Errorf("%w: Grant.WorkerID is %d; a worker ID is 0 or more", ErrInvalid, g.WorkerID)
	case g.Generation == 0:
		return fmt.Errorf("%w: Grant.Generation is 0; it starts at 1", ErrInvalid)
	case g.NotBefore < 0:
		return fmt.Errorf("%w: Grant.NotBefore is %d; a tick is 0 or more", ErrInvalid, g.NotBefore)
	case g.NotAfter < g.NotBefore:
		return fmt.Errorf("%w: Grant.NotAfter is %d and Grant.NotBefore is %d; a window does not end "+
			"before it begins", ErrInvalid, g.NotAfter, g.NotBefore)
	}
	return nil
}

// parseGrant reads the text of a grant.
func parseGrant(text string) (Grant, error) {
	rest, ok := strings.CutPrefix(text, "unalike-grant ")
	if !ok {
		return Grant{}, fmt.Errorf("%w: %.80q is not the text of a grant; that begins with %q",
			ErrInvalid, text, "unalike-grant "+grantVersion)
	}
	version, rest, _ := strings.Cut(rest, " ")
	if version != grantVersion {
		return Grant{}, fmt.Errorf("%w: the text of a grant has version %.80q and this program reads "+
			"%s; use the program that has written it, or a newer one", ErrInvalid, version, grantVersion)
	}
	var g Grant
	var found []string
	for rest != "" {
		name, value, after, err := cutField(rest)
		if err != nil {
			return Grant{}, err
		}
		if slices.Contains(found, name) {
			return Grant{}, fmt.Errorf("%w: the text of a grant has the field %q twice", ErrInvalid, name)
		}
		if err := g.set(name, value); err != nil {
			return Grant{}, fmt.Errorf("%w: the text of a grant has the field %s=%.80s: %w", ErrInvalid,
				name, value, err)
		}
		found, rest = append(found, name), after
	}
	for _, name := range grantFields {
		if !slices.Contains(found, name) { //mutant:grant-text
			return Grant{}, fmt.Errorf("%w: the text of a grant lacks the field %q; is it truncated?",
				ErrInvalid, name)
		}
	}
	return g, nil
}

// cutField cuts name=value and the space after it from the front of a text. A value is
// quoted, or has neither spaces nor quotes.
func cutField(text string) (name, value, rest string, _ error) {
	damaged := fmt.Errorf("%w: the text of a grant has %.80q, which is not name=value with a "+
		"space after it", ErrInvalid, text)
	name, rest, ok := strings.Cut(text, "=")
	if !ok || name == "" || strings.ContainsAny(name, "\" \t\r\n") {
		return "", "", "", damaged
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] == '"' {
		value = quoted
	} else {
		value, _, _ = strings.Cut(rest, " ")
		if value == "" || strings.ContainsAny(value, "\"\t\r\n") {
			return "", "", "", damaged
		}
	}
	rest = rest[len(value):]
	if rest == "" {
		return name, value, "", nil
	}
	rest, ok = strings.CutPrefix(rest, " ")
	if !ok || rest == "" {
		return "", "", "", damaged
	}
	return name, value, rest, nil
}

// set reads the value of a field. One that is not known is ignored.
func (g *Grant) set(name, value string) (err error) {
	switch name {
	case "worker":
		g.WorkerID, err = strconv.Atoi(value)
	case "generation":
		g.Generation, err = strconv.ParseUint(value, 10, 64)
	case "token":
		g.Token, err = strconv.Unquote(value)
	case "notBefore":
		g.NotBefore, err = strconv.ParseInt(value, 10, 64)
	case "notAfter":
		g.NotAfter, err = strconv.ParseInt(value, 10, 64)
	}
	return err
}
