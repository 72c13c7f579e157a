package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// project is where the project lives.
const project = "https://github.com/unalike-id/unalike"

const (
	// user is who runs in a container: nobody's user ID on a machine.
	user = 65532
	// dataFolder is where the data of serve are.
	dataFolder = "var/lib/unalike"
)

// stamp says what an image is made from. The same stamp gives the same digest.
type stamp struct {
	version, commit string
	at              time.Time // of the commit
}

// stampOf asks git about the checkout. The version is that of the newest tag, and more where the
// checkout is not at it.
func stampOf(ctx context.Context) (s stamp, err error) {
	git := func(args ...string) (out string) {
		if err != nil {
			return ""
		}
		var b []byte
		b, err = exec.CommandContext(ctx, "git", append([]string{"-C", repository}, args...)...).Output()
		if err != nil {
			err = fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(b))
	}
	s.version = git("describe", "--tags", "--always", "--dirty", "--match=v*")
	s.commit = git("rev-parse", "HEAD")
	at := git("show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return s, err
	}
	s.at, err = time.Parse(time.RFC3339, at)
	s.at = s.at.UTC()
	return s, err
}

// program builds the command for Linux, with nothing that it needs beside it.
func program(ctx context.Context, arch, path string, s stamp) error {
	flags := fmt.Sprintf("-s -w -X main.stampedVersion=%s -X main.stampedCommit=%s", s.version,
		s.commit)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags,
		"-o", path, "./cmd/unalike")
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", arch, err, out)
	}
	return nil
}

// roots are the certificates of authorities that a client of TLS trusts, but for those that are
// trusted with some names alone, as a file cannot say so.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// content is the one layer of an image.
func content(program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, mode int64, owner int, data []byte) error {
		h := &tar.Header{
			Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(data)),
			Typeflag: tar.TypeReg, Format: tar.FormatPAX, ModTime: time.Unix(0, 0),
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	for _, folder := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "var/", "var/lib/"} {
		if err := add(folder, 0o755, 0, nil); err != nil {
			return nil, err
		}
	}
	if err := add(dataFolder+"/", 0o700, user, nil); err != nil {
		return nil, err
	}
	if err := add("etc/ssl/certs/ca-certificates.crt", 0o644, 0, roots()); err != nil {
		return nil, err
	}
	if err := add("unalike", 0o755, 0, program); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

// image returns the image with a layer, for Linux on arch.
func image(layer []byte, arch string, s stamp) (v1.Image, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil }
	l, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		types.OCIConfigJSON)
	img, err := mutate.Append(base,
		mutate.Addendum{Layer: l, History: v1.History{
			Created:   v1.Time{Time: s.at},
			CreatedBy: "deploy/tools",
		}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, v1.Time{Time: s.at}
	file.Config = v1.Config{
		Entrypoint: []string{"/unalike"}, Cmd: []string{"serve"}, User: fmt.Sprintf("%d:%d", user, user),
		WorkingDir: "/",
		Env: []string{"UNALIKE_LISTEN=:8080", "XDG_DATA_HOME=/" +
			filepath.ToSlash(filepath.Dir(dataFolder))},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/" + dataFolder: {}}, StopSignal: "SIGTERM",
		Labels: labels(s),
	}
	return mutate.ConfigFile(img, file)
}

// labels says what an image has, in the words of the Open Container Initiative.
func labels(s stamp) map[string]string {
	const name = "org.opencontainers.image."
	return map[string]string{
		name + "title": "unalike", name + "description": "Unique Snowflake IDs over HTTP and gRPC",
		name + "source": project, name + "documentation": project + "/blob/main/docs/operating.md",
		name + "licenses": "Apache-2.0", name + "version": s.version, name + "revision": s.commit,
		name + "created": s.at.Format(time.RFC3339),
	}
}

// index returns an image for each architecture, made of the programs in folder, which index builds.
func index(ctx context.Context, folder string, s stamp, arches ...string) (v1.ImageIndex, error) {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range arches {
		path := filepath.Join(folder, "unalike-"+arch)
		if err := program(ctx, arch, path, s); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		layer, err := content(text)
		if err != nil {
			return nil, err
		}
		img, err := image(layer, arch, s)
		if err != nil {
			return nil, err
		}
		all = mutate.AppendManifests(all,
			mutate.IndexAddendum{
				Add:        img,
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
			})
	}
	return all, nil
}

// unpack writes the layer of an image into a folder, which is new or empty, as a container sees it.
// The owner of what is in it is set where this process may do so.
func unpack(ctx context.Context, img v1.Image, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	flat := mutate.Extract(img)
	defer func() { _ = flat.Close() }()
	cmd := exec.CommandContext(ctx, "tar", "-xkpf", "-", "-C", folder)
	cmd.Stdin = flat
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tar into %s: %w\n%s", folder, err, out)
	}
	return nil
}
