package embedded

import (
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the mark of a folder of version 0.1.0 is read, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	want := mark{Version: formatVersion, Folder: "K5NAMEOFTHEFOLDER", Served: true}
	text, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got mark
	err = decode([]byte(goldentest.Same(t, "folder.json", string(text))), &got)
	if err != nil || got != want {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, want)
	}
}
