package proto_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

const again = "run scripts/proto"

// inputs are what the generated code comes from.
func inputs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("unalike/*/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return append(files, "buf.yaml", "buf.gen.yaml", "tools/go.mod")
}

// TestInputs: the generated code was made from what stands here.
func TestInputs(t *testing.T) {
	recorded, err := os.ReadFile("inputs.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range inputs(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // as git may have it on Windows
		want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(text), name))
	}
	var got []string
	for lines := bufio.NewScanner(bytes.NewReader(recorded)); lines.Scan(); {
		got = append(got, lines.Text())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("inputs.sha256 has\n%s\nand the files are\n%s\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"), again)
	}
}

// TestImage: what breaking changes are looked for against is what the code was generated from.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("image.binpb")
	if err != nil {
		t.Fatal(err)
	}
	var image descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &image); err != nil {
		t.Fatal(err)
	}
	want := protodesc.ToFileDescriptorProto(unalikev1.File_unalike_v1_id_proto)
	found := 0
	for _, f := range image.File {
		if f.GetPackage() != "unalike.v1" {
			continue
		}
		found++
		f.SourceCodeInfo = nil
		if !proto.Equal(f, want) {
			t.Errorf("%s in image.binpb is not what the generated code has; %s", f.GetName(), again)
		}
	}
	if found != 1 {
		t.Errorf("image.binpb has %d files of unalike.v1; %s", found, again)
	}
}

// TestSideEffects: no method may be called with GET, or repeated as if it had no effect.
func TestSideEffects(t *testing.T) {
	methods := unalikev1.File_unalike_v1_id_proto.Services().ByName("IDService").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		if o, ok := m.Options().(*descriptorpb.MethodOptions); ok &&
			o.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
			t.Errorf("%s is %v: a reply would be stored or asked for again", m.Name(),
				o.GetIdempotencyLevel())
		}
	}
	if methods.Len() < 5 {
		t.Errorf("%d methods", methods.Len())
	}
}
