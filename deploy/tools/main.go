// Command tools builds the image of unalike without a daemon: the same checkout gives the same
// digest. Its tests are those of everything in deploy.
//
//	go run -C deploy/tools . -out /tmp/image                      # a folder in OCI's layout
//	go run -C deploy/tools . -push registry.example.com/unalike:v0.1.0
//	go run -C deploy/tools . -root ../image/root                  # for deploy/image/Containerfile
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// repository is where the checkout is, seen from this folder.
const repository = "../.."

// options are the flags.
type options struct{ out, push, root, arches string }

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "write the image into this `FOLDER`, in OCI's layout")
	flag.StringVar(&o.push, "push", "",
		"push the image to this `REFERENCE`, with the credentials of docker login")
	flag.StringVar(&o.root, "root", "",
		"unpack the image for this machine into this `FOLDER`, which is new or empty")
	flag.StringVar(&o.arches, "arch", "amd64,arm64", "architectures")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}

// run builds the image, does with it what the options say, and prints its digest.
func run(ctx context.Context, o options) error {
	if o.out == "" && o.push == "" && o.root == "" {
		return errors.New("-out, -push or -root says where to")
	}
	s, err := stampOf(ctx)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	all, err := index(ctx, folder, s, strings.Split(o.arches, ",")...)
	if err != nil {
		return err
	}
	if o.out != "" {
		path, err := layout.Write(o.out, empty.Index)
		if err == nil {
			err = path.AppendIndex(all)
		}
		if err != nil {
			return err
		}
	}
	if o.root != "" {
		img, err := imageFor(all, runtime.GOARCH)
		if err == nil {
			err = unpack(ctx, img, o.root)
		}
		if err != nil {
			return err
		}
	}
	if o.push != "" {
		if err := push(ctx, all, o.push); err != nil {
			return err
		}
	}
	digest, err := all.Digest()
	if err == nil {
		fmt.Println(digest)
	}
	return err
}

// push writes the image to a registry.
func push(ctx context.Context, all v1.ImageIndex, reference string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, all, remote.WithContext(ctx),
		remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// imageFor returns the image for an architecture.
func imageFor(all v1.ImageIndex, arch string) (v1.Image, error) {
	found, err := partial.FindImages(all,
		match.Platforms(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no image for %s", arch)
	}
	return found[0], nil
}
