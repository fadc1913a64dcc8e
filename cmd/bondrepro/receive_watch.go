package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"bondrepro/internal/report"
	"bondrepro/internal/traffic"
	"bondrepro/reproducer/result"

	"github.com/google/renameio/v2"
)

// The times of a receiver.
const (
	lookEvery  = 100 * time.Millisecond // for something new
	renewEvery = time.Second            // and at least as often the file is renewed while there is
	// settled is how long no datagram must have come for the file to be renewed at once: a run may be over.
	settled = 200 * time.Millisecond
)

// watcher keeps a receiver's file, and what is shown, up to date.
type watcher struct {
	site   *traffic.Site
	output string // empty: no file
	show   func(text string)
	file   result.ReceiverFile
	seen   traffic.Taken // when the file was last renewed
	at     time.Time     // of that
}

// watch goes on until ctx is done or an interface is gone, which is an error, and returns the whole file then. The file is
// there from the beginning on.
func watch(ctx context.Context, site *traffic.Site, output string, show func(text string)) (result.ReceiverFile, error) {
	w := &watcher{site: site, output: output, show: show, file: result.ReceiverFile{
		Schema: result.ReceiverSchema, Tool: "bondrepro " + version, Receiver: site.Receiver, Started: time.Now().UTC(),
		Runs: []result.ReceivedRun{}, Warnings: site.Warnings,
	}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var gone error
	for err := w.renew(w.seen); gone == nil && ctx.Err() == nil; err = w.look() {
		if err != nil {
			return w.file, err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
			gone = site.Gone()
		}
	}
	w.file.Ended = true
	return w.file, errors.Join(gone, w.renew(site.Taken()))
}

// look renews the file when it is time to.
func (w *watcher) look() error {
	now := w.site.Taken()
	datagrams := now.Datagrams != w.seen.Datagrams
	switch {
	case datagrams && now.Idle >= settled:
	case (datagrams || now.Frames != w.seen.Frames) && time.Since(w.at) >= renewEvery:
	default:
		return nil
	}
	if err := w.renew(now); err != nil {
		return err
	}
	if text := report.Receiving(w.file.Runs); datagrams && text != "" {
		w.show(text)
	}
	return nil
}

// renew writes what has come by now: the whole file or nothing.
func (w *watcher) renew(now traffic.Taken) error {
	w.seen, w.at = now, time.Now()
	if runs, forgotten := w.site.Runs(); len(runs) > 0 {
		w.file.Runs, w.file.Forgotten = runs, forgotten
	}
	w.file.Written = w.at.UTC()
	if w.output == "" {
		return nil
	}
	var b bytes.Buffer
	if err := result.EncodeReceiver(&b, w.file); err != nil {
		return fmt.Errorf("-o %s: %w", w.output, err)
	}
	if err := renameio.WriteFile(w.output, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("-o %s: %w", w.output, err)
	}
	return nil
}
