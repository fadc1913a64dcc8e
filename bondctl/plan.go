package bondctl

import (
	"fmt"
	"strconv"
)

// DifferenceError says that the bond is there but is not as asked: the first difference.
type DifferenceError struct {
	Object, What, Want, Got string
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("%s is there and differs: %s of %s is %s, %s is asked for; bondctl down removes the bond", e.Object, e.What, e.Object, e.Got, e.Want)
}

// Plan is what makes the bond out of what is there, step by step: nothing where it is as asked. Only what is asked is
// compared. One that differs is a *DifferenceError; what can't be a bond is a *FieldError. The order, whatever that of
// the options: the bond with its options and its MTU; each slave down, with its queue, enslaved, with its options, up;
// the slaves' qdiscs, which are as long as txqueuelen when they are made; the bond up; what names a slave; addresses.
func Plan(want Bond, have Interfaces) ([]Step, error) {
	want, err := want.Check()
	if err != nil {
		return nil, err
	}
	if there, ok := have[want.Name]; ok {
		if there.Kind != "bond" {
			return nil, fmt.Errorf("%s is no bond: it is left alone", want.Name)
		}
		if d := firstDifference(want, have); d != nil {
			return nil, &DifferenceError{Object: d.object, What: d.what, Want: d.want, Got: d.got}
		}
		return nil, nil
	}
	first, last := split(want.Options)
	steps := []Step{createBond{want.Name, want.Ifindex, first}}
	if want.MTU != 0 {
		steps = append(steps, setLink{want.Name, "mtu", strconv.Itoa(want.MTU)})
	}
	for _, s := range want.Slaves {
		there, err := free(s.Name, have, want.Take)
		if err != nil {
			return nil, err
		}
		wish := slaveWish{Port: s, take: want.Take, txQueueLen: want.TxQueueLen}
		if want.Qdisc != "" {
			if wish.queues, err = qdiscSteps(s.Name, there, Leaf{Kind: want.Qdisc}); err != nil {
				return nil, err
			}
		}
		steps = append(steps, enslaveSteps(want.Name, wish, there)...)
	}
	steps = append(steps, setLink{want.Name, "up", ""})
	for _, o := range last {
		if o.Name == "active_slave" {
			steps = append(steps, awaitSlave{o.Value})
		}
		steps = append(steps, setOptions{want.Name, ofBond, []Option{o}})
	}
	for _, a := range want.Addresses {
		steps = append(steps, addAddress{name: want.Name, address: a})
	}
	return steps, nil
}

// split parts the options that can be set at once from those that need a slave, and leaves their order.
func split(options []Option) (first, last []Option) {
	for _, o := range options {
		if find(bondTable, o.Name).when == withSlave {
			last = append(last, o)
		} else {
			first = append(first, o)
		}
	}
	return first, last
}
