package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"

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

// longInput is from how many bytes on progress is shown.
const longInput = 32 << 20

// verifyBars shows how far each step of a check is. The nil verifyBars shows nothing.
type verifyBars struct {
	app  *app
	step verify.Step
	bar  *progress
}

// verifyBars returns nil for a short input, where nobody watches, and where somebody types the IDs.
func (a *app) verifyBars(sources []verify.Source) *verifyBars {
	size := int64(0)
	for _, src := range sources {
		if src.Size < 0 {
			size = longInput // or more
			break
		}
		size += src.Size
	}
	if size < longInput || !a.canDraw() || isTerminal(a.in) {
		return nil
	}
	return &verifyBars{app: a}
}

// show shows how much of a step is done.
func (b *verifyBars) show(step verify.Step, done, all int64) {
	if b == nil {
		return
	}
	if step != b.step {
		b.bar.finish()
		options := []progressbar.Option{progressbar.OptionShowBytes(true)}
		if step == verify.StepMerge {
			options = []progressbar.Option{
				progressbar.OptionShowCount(), progressbar.OptionShowIts(),
				progressbar.OptionSetItsString("IDs"),
			}
		}
		b.step, b.bar = step, b.app.bar(all, string(step), options...)
	}
	b.bar.set(done)
}

// finish takes what is shown off the screen.
func (b *verifyBars) finish() {
	if b != nil {
		b.bar.finish()
	}
}
