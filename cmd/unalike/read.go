package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/core"
)

// readID returns the ID that s is in the given format.
func readID(s, format string) (core.ID, error) {
	switch format {
	case formatDecimal:
		return core.ParseID(s)
	case formatBase62:
		return core.ParseBase62(s)
	case formatBase32:
		return core.ParseBase32(s)
	case formatJSON:
		return readJSON(s)
	}
	return recognize(s)
}

// recognize reads an ID in the format that it looks like.
func recognize(s string) (core.ID, error) {
	switch {
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, `"`):
		return readJSON(s)
	case plain(s):
		return core.ParseID(s)
	case len(s) == 11:
		return core.ParseBase62(s)
	case len(s) == 13:
		return core.ParseBase32(s)
	}
	// None of the lengths fits. What decimal has against it is what most people need.
	id, err := core.ParseID(s)
	if err != nil {
		err = fmt.Errorf("%w; base62 would have 11 characters and base32 13", err)
	}
	return id, err
}

// plain reports whether s is a number in decimal.
func plain(s string) bool {
	return strings.Trim(s, "0123456789") == "" && (s == "0" || !strings.HasPrefix(s, "0"))
}

// guessed reports whether text that is recognized may be that of another generator.
func guessed(s string) bool {
	return !plain(s) && !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, `"`)
}

// readJSON reads an ID as a JSON string or number, or as the member "id" of an
// object, as generate writes it.
func readJSON(s string) (core.ID, error) {
	if !strings.HasPrefix(s, "{") {
		var id core.ID
		if err := json.Unmarshal([]byte(s), &id); err != nil {
			return 0, fmt.Errorf("%.60q in JSON: %w", s, err)
		}
		return id, nil
	}
	var o struct {
		ID *core.ID `json:"id"`
	}
	switch err := json.Unmarshal([]byte(s), &o); {
	case err != nil:
		return 0, fmt.Errorf("%.60q in JSON: %w", s, err)
	case o.ID == nil:
		return 0, fmt.Errorf(`%.60q in JSON: the object has no "id"`, s)
	}
	return *o.ID, nil
}
