package sqlsegmenttest

import (
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
)

// OneTag has many goroutines use one tag.
func OneTag(t *testing.T, d *Database) {
	numbertest.OneTag(t, d.Open(t, &Wire{}, 0), d.Open(t, &Wire{}, 0), fulltest.Rounds(8, 400))
}

// ManyTags has sets use a thousand tags.
func ManyTags(t *testing.T, d *Database, statement string) {
	d.Exec(t, statement)
	numbertest.ManyTags(t, d.Open(t, &Wire{}, 0), d.Open(t, &Wire{}, 0))
}
