package main

import (
	"errors"
	"io"
	"os"
)

// write writes a chart to a file.
func write(c io.WriterTo, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = c.WriteTo(f)
	return errors.Join(err, f.Close())
}
