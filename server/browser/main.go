// Browser opens the page of package server in a real browser, chromium: its tests look at what the
// page does, and the command makes the pictures of the documentation.
//
//	go run . ../../docs/images
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: browser FOLDER, which the pictures go to")
		os.Exit(2)
	}
	if err := pictures(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// open starts a browser, with a tab that has no page yet.
func open(ctx context.Context, options ...chromedp.ContextOption) (tab context.Context,
	end func(),
) {
	all := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.Flag("disable-background-networking", true))
	browser, endBrowser := chromedp.NewExecAllocator(ctx, all...)
	tab, endTab := chromedp.NewContext(browser, options...)
	return tab, func() { endTab(); endBrowser() }
}

// look sets width and colours of a tab.
func look(tab context.Context, width int64, colours string) error {
	_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}},
	})
	return errors.Join(err, chromedp.Do(tab, chromedp.EmulateViewport(width, 720)))
}

// pictures makes those of the documentation.
func pictures(folder string) (err error) {
	s, err := newStage(plain(6), nil)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	go s.load(ctx, 400)
	tab, end := open(ctx)
	defer end()
	shot := func(name string, width int64, colours string) {
		err = errors.Join(err, look(tab, width, colours), chromedp.Do(tab, chromedp.Sleep(2*time.Second)))
		text, failed := chromedp.Run(tab, chromedp.FullScreenshot(100))
		if err = errors.Join(err, failed); err != nil {
			return
		}
		if text, err = small(text); err == nil {
			err = os.WriteFile(filepath.Join(folder, name+".png"), text, 0o644)
		}
	}
	if err := chromedp.Do(tab, chromedp.Navigate(s.front.URL+"/?id=384251933491213389"),
		chromedp.Sleep(time.Minute)); err != nil {
		return err
	}
	shot("page-light", 1280, "light")
	shot("page-dark", 1280, "dark")
	shot("page-narrow", 360, "light")
	s.orders.Outage(true)
	s.storeAway()
	s.ask(ctx, "/v1/sequences/tickets/numbers")
	time.Sleep(12 * time.Second)
	shot("page-outage", 1280, "dark")
	return err
}

// distance is by how much two colours differ, from 0 to 765.
func distance(a, b color.Color) (sum int) {
	x, y := color.RGBAModel.Convert(a).(color.RGBA), color.RGBAModel.Convert(b).(color.RGBA)
	for _, d := range []int{int(x.R) - int(y.R), int(x.G) - int(y.G), int(x.B) - int(y.B)} {
		sum += max(d, -d)
	}
	return sum
}

// small returns a picture with at most 256 colours, the most frequent of those that differ: enough
// for letters and lines.
func small(text []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	frequent := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			frequent[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(frequent), func(a, b color.Color) int {
		return frequent[b] - frequent[a]
	})
	var palette color.Palette
	for _, c := range colours {
		if len(palette) < 256 && (len(palette) == 0 || distance(palette.Convert(c), c) > 12) {
			palette = append(palette, c)
		}
	}
	few := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few)
	return b.Bytes(), err
}
