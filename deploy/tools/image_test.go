package main

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// mostBytes is how large an image may be, compressed.
const mostBytes = 20 << 20

// imageOfTest is the image of the program under test.
func imageOfTest(t *testing.T) v1.Image {
	t.Helper()
	layer, err := content([]byte(read(t, command(t))))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(layer, runtime.GOARCH, testStamp)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestImage: what the image has, and nothing else; what a container runs; how large it is.
func TestImage(t *testing.T) {
	t.Parallel()
	img := imageOfTest(t)
	size := int64(0)
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	for _, l := range layers {
		n, err := l.Size()
		if err != nil {
			t.Fatal(err)
		}
		size += n
	}
	t.Logf("%d bytes, compressed", size)
	if size > mostBytes {
		t.Errorf("it has %d bytes; %d are allowed", size, mostBytes)
	}
	var names []string
	flat := mutate.Extract(img)
	defer func() { _ = flat.Close() }()
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %o %d:%d", h.Name, h.Mode, h.Uid, h.Gid))
	}
	want := "etc 755 0:0, etc/ssl 755 0:0, etc/ssl/certs 755 0:0, var 755 0:0, var/lib 755 0:0, " +
		"var/lib/unalike 700 65532:65532, etc/ssl/certs/ca-certificates.crt 644 0:0, unalike 755 0:0"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("it has %s; want %s", got, want)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.Config.User != "65532:65532" ||
		file.Config.Labels["org.opencontainers.image.version"] != testStamp.version ||
		file.Config.Labels["org.opencontainers.image.revision"] != testStamp.commit {
		t.Errorf("%+v", file.Config)
	}
	if n := strings.Count(string(roots()), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d authorities are known", n)
	}
}

// TestImageAgain: both architectures, the same digest twice, also from a registry and from a
// folder; and the program for arm64 needs nothing beside it, and runs where there is qemu.
func TestImageAgain(t *testing.T) {
	fulltest.Long(t, "it builds the program for another architecture, and twice")
	if fulltest.Rounds(0, 1) == 0 {
		t.Skip("SKIPPED: only make full builds the program for another architecture")
	}
	var digests []v1.Hash
	var all v1.ImageIndex
	for range 2 {
		var err error
		all, err = index(t.Context(), t.TempDir(), testStamp, "amd64", "arm64")
		if err != nil {
			t.Fatal(err)
		}
		d, err := all.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d)
	}
	if digests[0] != digests[1] {
		t.Errorf("two digests: %v", digests)
	}
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/unalike:v0.0.0"
	if err := push(t.Context(), all, reference); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pulled.Digest(); err != nil || got != digests[0] {
		t.Errorf("the registry has %v, %v", got, err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	if _, err := layout.Write(folder, empty.Index); err != nil {
		t.Fatal(err)
	}
	if err := layout.Path(folder).AppendIndex(all); err != nil {
		t.Fatal(err)
	}
	img, err := imageFor(all, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := unpack(t.Context(), img, root); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "unalike")
	f, err := elf.Open(path)
	if err != nil || f.Machine != elf.EM_AARCH64 {
		t.Fatalf("%v, %v", f, err)
	}
	defer func() { _ = f.Close() }()
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it needs %v", libraries)
	}
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip("SKIPPED, not installed: qemu-aarch64-static runs the image for arm64; on " +
			"Debian and its kin: apt-get install qemu-user-static")
	}
	cmd := exec.Command(qemu, path, "serve", "--listen", "127.0.0.1:0")
	cmd.Env = []string{"XDG_DATA_HOME=" + t.TempDir()}
	s := start(t, cmd)
	s.serves()
	s.stop()
}

// TestContainerfile: buildah makes an image of the same content.
func TestContainerfile(t *testing.T) {
	if fulltest.Rounds(0, 1) == 0 {
		t.Skip("SKIPPED: only make full runs buildah")
	}
	buildah, err := exec.LookPath("buildah")
	if err != nil {
		t.Skip("SKIPPED, not installed: buildah builds the Containerfile; on Debian and its kin: " +
			"apt-get install buildah")
	}
	folder := t.TempDir()
	if err := unpack(t.Context(), imageOfTest(t), filepath.Join(folder, "root")); err != nil {
		t.Fatal(err)
	}
	put(t, folder, "Containerfile", read(t, "../image/Containerfile"))
	out, err := exec.CommandContext(t.Context(), buildah, "--storage-driver=vfs",
		"--root="+t.TempDir(), "--runroot="+t.TempDir(),
		"build", "--isolation=chroot", "-t", "oci:"+filepath.Join(folder, "image"),
		folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
