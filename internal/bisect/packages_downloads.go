package bisect

import (
	"context"
	"slices"
	"sync"
)

// downloads fetches points, each once at a time, some of them in the background. It owns the goroutines that do so, until stop.
type downloads struct {
	// fetch gets one point; keep are others that must not make room for it. It is called concurrently.
	fetch func(ctx context.Context, id string, keep []string, progress func(string)) error
	ctx   context.Context // ends what is fetched in the background
	end   context.CancelFunc

	mu      sync.Mutex
	started map[string]download // also those that are done; those that failed are taken out
	wanted  []string            // by want
	present string              // by get
	owned   sync.WaitGroup
}

// download is a point that is being fetched in the background, or was fetched.
type download struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// fetched is one that get fetched.
func fetched() download {
	d := download{cancel: func() {}, done: make(chan struct{})}
	close(d.done)
	return d
}

func newDownloads(ctx context.Context, fetch func(context.Context, string, []string, func(string)) error) *downloads {
	d := &downloads{fetch: fetch, started: map[string]download{}}
	d.ctx, d.end = context.WithCancel(ctx)
	return d
}

// want starts to fetch these in the background, and stops fetching others. What went wrong is not told: get tries again.
func (d *downloads) want(ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = slices.Clone(ids)
	for id, one := range d.started {
		if !slices.Contains(ids, id) && id != d.present {
			one.cancel()
		}
	}
	for _, id := range ids {
		if _, known := d.started[id]; !known && id != d.present && d.ctx.Err() == nil {
			d.start(id)
		}
	}
}

// start fetches one in the background; d.mu is held.
func (d *downloads) start(id string) {
	ctx, cancel := context.WithCancel(d.ctx)
	one := download{cancel: cancel, done: make(chan struct{})}
	d.started[id] = one
	d.owned.Go(func() {
		defer cancel()
		err := d.fetch(ctx, id, d.keep(), func(string) {})
		d.mu.Lock()
		defer d.mu.Unlock()
		if err != nil {
			delete(d.started, id) // it may be tried again
		}
		close(one.done)
	})
}

// keep are the points that must stay while another one is fetched.
func (d *downloads) keep() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.present == "" {
		return d.wanted
	}
	return append(slices.Clone(d.wanted), d.present)
}

// get fetches a point, or waits for the one that does so in the background. Where that fails, it is tried once more, here.
func (d *downloads) get(ctx context.Context, id string, progress func(string)) error {
	d.mu.Lock()
	d.present = id
	one, known := d.started[id]
	d.mu.Unlock()
	if known {
		select {
		case <-one.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// Also when it has been fetched: it may have gone out of the cache since.
	if err := d.fetch(ctx, id, d.keep(), progress); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.started[id]; !known {
		d.started[id] = fetched()
	}
	return nil
}

// stop ends what is fetched in the background and waits until it has ended.
func (d *downloads) stop() {
	d.end()
	d.owned.Wait()
}
