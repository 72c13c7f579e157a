package main

import (
	"fmt"
	"io"
	"os"

	"github.com/unalike-id/unalike/internal/verify"
)

// stdinName stands for the standard input among the names of files.
const stdinName = "-"

// sources returns the files of these names; none is the standard input.
func (a *app) sources(names []string) ([]verify.Source, error) {
	if len(names) == 0 {
		names = []string{stdinName}
	}
	var all []verify.Source
	known := map[string]os.FileInfo{}
	for _, name := range names {
		src := verify.Source{Name: "the standard input", Size: -1, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(a.in), nil
		}}
		info := os.FileInfo(nil)
		if name != stdinName {
			var err error
			if info, err = os.Stat(name); err != nil {
				return nil, err
			}
			if info.IsDir() {
				return nil, fmt.Errorf("%s is a folder; name its files", name)
			}
			src = verify.Source{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
				return os.Open(name)
			}}
			if info.Mode().IsRegular() {
				src.Size, src.Again = info.Size(), true
			}
		}
		for other, that := range known {
			if info == nil && that == nil || info != nil && that != nil && os.SameFile(info, that) {
				return nil, usageError{fmt.Errorf("%s and %s are the same file; all its IDs would occur twice",
					other, name)}
			}
		}
		known[name] = info
		all = append(all, src)
	}
	return all, nil
}
