package ifstate

import (
	"context"
	"slices"
	"strings"
	"time"
)

const (
	// carrierLimit is how long links may take to come up again: they negotiate, and a switch may look for
	// loops.
	carrierLimit = 45 * time.Second
	// settleLimit is how long the rest may take that comes by itself: duplicate address detection, the bond's monitor.
	settleLimit = 6 * time.Second
	// linkLocalLimit is how long the kernel may take to make a link-local address on an interface that is up.
	linkLocalLimit = 2 * time.Second

	poll = 50 * time.Millisecond
)

// Restore puts a state back, and first removes the interfaces that we made. It reads what is and changes only what
// differs, so it works from any state that an earlier Restore left. After each single change it calls changed, which may be
// nil, with the command line that does the same. It returns what still differs. An error means that what is there
// could not be read, or that ctx ended.
//
// Of made only an interface whose name and index agree is removed, and only in the boot that the state is of: another
// is not ours.
func Restore(ctx context.Context, s State, made []Made, changed func(command string)) ([]Leftover, error) {
	if changed == nil {
		changed = func(string) {}
	}
	r := &restorer{ctx: ctx, want: s, changed: changed, errs: map[fault]string{}, carrierUntil: time.Now().Add(carrierLimit)}
	var err error
	if r.boot, err = bootID(); err != nil {
		return nil, err
	}
	now, err := bootTime()
	if err != nil {
		return nil, err
	}
	if r.boot == s.BootID {
		r.elapsed, r.made = uint32(max(0, now-s.Taken)), made
	}
	left, err := r.untilSettled()
	return withLink(left), err
}

// withLink marks what comes by itself with the link of an interface that has lost its carrier.
func withLink(left []Leftover) []Leftover {
	lost := map[string]bool{}
	for _, l := range left {
		lost[l.Interface] = lost[l.Interface] || l.What == whatCarrier
	}
	for n, l := range left {
		byKernel := l.What == "route" && strings.Contains(l.Want+" ", protoKernel)
		byLink := slices.Contains([]string{whatCarrier, "operational state", "membership"}, l.What) || l.Got == "tentative"
		left[n].Link = lost[l.Interface] && (byKernel || byLink)
	}
	return left
}

// protoKernel marks a route that the kernel made, in its text (RTPROT_KERNEL).
const protoKernel = " proto 2 "

// untilSettled makes passes until nothing differs, nothing more can be done and nothing more comes by itself.
func (r *restorer) untilSettled() ([]Leftover, error) {
	var deadline time.Time
	pause := 1
	for {
		before := r.done
		if err := r.pass(); err != nil {
			return nil, err
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(settleLimit)
		}
		left, err := r.leftovers()
		if err != nil || len(left) == 0 {
			return nil, err
		}
		worth := r.done > before || slices.ContainsFunc(left, settles)
		if !worth || time.Now().After(deadline) {
			return left, nil
		}
		for range pause { // longer each time: what is refused again and again is not tried more than some times
			if err := r.sleep(); err != nil {
				return nil, err
			}
		}
		pause *= 2
	}
}

// settles tells whether a difference may end by itself, or be mended by another pass when something else has.
func settles(l Leftover) bool {
	for _, what := range []string{"carrier", "operational state", "address", "route", "membership", "bond option active_slave"} {
		if strings.HasPrefix(l.What, what) {
			return true
		}
	}
	return false
}

// restorer is one Restore.
type restorer struct {
	ctx          context.Context
	want         State
	made         []Made
	changed      func(command string)
	boot         string
	elapsed      uint32 // seconds since the state was taken
	carrierUntil time.Time

	all  []link // what is, as last read
	done int    // changes
	errs map[fault]string
}

// fault is what an error belongs to: an interface, and Leftover.What with its Want or Got, or with neither.
type fault struct{ name, what, item string }

// do makes one change. It tells whether that worked; why not is kept for the leftovers.
func (r *restorer) do(f fault, command string, change func() error) bool {
	if r.ctx.Err() != nil {
		return false
	}
	if err := change(); err != nil {
		r.errs[f] = command + ": " + err.Error()
		return false
	}
	delete(r.errs, f)
	r.done++
	r.changed(command)
	return true
}

// pass goes once through everything, in the order in which one thing needs the other.
func (r *restorer) pass() error {
	for _, phase := range []func() error{
		r.removeMade,
		r.each(r.queueLength), // default qdiscs are made from it when a slave is opened
		r.release,
		r.enslave,
		r.each(r.attributes),
		r.each(r.offload),
		r.each(r.settings), // addr_gen_mode and its like decide on what comes when it goes up
		r.each(r.upOrDown),
		r.each(r.qdiscs), // may bring up for a moment what is down
		r.awaitCarrier,
		r.each(r.bondOptions),
		r.each(r.addressesOf),
		r.each(r.neighboursOf),
		r.each(r.multicastOf),
		r.each(r.settings), // those of an interface that had no IPv6 until now
		r.routes,
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

// each makes a phase of what is done to one interface after the other, those that are there; l is as it is now.
func (r *restorer) each(do func(i *Interface, l link) error) func() error {
	return func() error {
		if err := r.read(); err != nil {
			return err
		}
		pairs := r.pairs()
		for n := range r.want.Interfaces {
			if pairs[n] < 0 {
				continue
			}
			if err := do(&r.want.Interfaces[n], r.all[pairs[n]]); err != nil {
				return err
			}
		}
		return nil
	}
}

// read reads the interfaces.
func (r *restorer) read() error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	all, err := links()
	if err == nil {
		r.all = all
	}
	return err
}

// pairs are for each wanted interface its number in r.all, -1 where it is gone.
func (r *restorer) pairs() []int {
	present := make([]identity, len(r.all))
	for n, l := range r.all {
		present[n] = identity{l.index, l.name, l.permanentMAC}
	}
	return match(r.want, r.boot, present)
}

// now is the interface that had that name, nil where it is gone. Interfaces that the state does not hold are found by
// their names.
func (r *restorer) now(name string) *link {
	for n, m := range r.pairs() {
		if r.want.Interfaces[n].Name == name {
			if m < 0 {
				return nil
			}
			return &r.all[m]
		}
	}
	return byName(r.all, name)
}

// index is the present index of the interface that had this one, 0 where it is gone.
func (r *restorer) index(then int) int {
	for n, m := range r.pairs() {
		if r.want.Interfaces[n].Ifindex == then {
			if m < 0 {
				return 0
			}
			return r.all[m].index
		}
	}
	if r.boot == r.want.BootID && byIndex(r.all, then) != nil {
		return then
	}
	return 0
}

// oldName is the name that the interface of an index had when the state was taken.
func (r *restorer) oldName(index int) string {
	if name, ok := r.oldNames()[index]; ok {
		return name
	}
	return nameOf(r.all, index)
}

// oldNames are those of all interfaces of the state, by present index.
func (r *restorer) oldNames() map[int]string {
	names := map[int]string{}
	for n, m := range r.pairs() {
		if m >= 0 {
			names[r.all[m].index] = r.want.Interfaces[n].Name
		}
	}
	return names
}

// leftovers are what differs now, with the errors that changes met.
func (r *restorer) leftovers() ([]Leftover, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	var indices []int
	names := r.oldNames()
	for index := range names {
		indices = append(indices, index)
	}
	is, err := capture(r.all, indices, nil, names)
	if err != nil {
		return nil, err
	}
	left := Differences(r.want, is) // which does not see a new name, as the old one is in what was captured
	for n, m := range r.pairs() {
		if old := r.want.Interfaces[n].Name; m >= 0 && r.all[m].name != old {
			left = append(left, Leftover{Interface: old, What: "name", Want: old, Got: r.all[m].name})
		}
	}
	for _, m := range r.made {
		if r.isOurs(m) {
			left = append(left, Leftover{Interface: m.Name, What: whatMade, Got: "still there"})
		}
	}
	for n, l := range left {
		for _, item := range []string{l.Want, l.Got, ""} {
			if why := r.errs[fault{l.Interface, l.What, item}]; why != "" {
				left[n].Err = why
				break
			}
		}
	}
	return left, nil
}

// sleep waits a little.
func (r *restorer) sleep() error {
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-time.After(poll):
		return nil
	}
}
