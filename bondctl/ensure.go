package bondctl

import (
	"context"
	"errors"
)

// Ensure makes the bond, and gives the steps that it took: none where the bond was as asked already, and then nothing
// was sent that changes anything. It reads back all that was asked for. On error no bond that it made is left, and its
// slaves are free and down.
func (c *Client) Ensure(ctx context.Context, want Bond) ([]Step, error) {
	have, err := c.Interfaces()
	if err != nil {
		return nil, err
	}
	steps, err := Plan(want, have)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	for i, s := range steps {
		if err := c.do(ctx, s); err != nil {
			if i == 0 { // there is no bond of ours
				return nil, err
			}
			return nil, errors.Join(err, c.Down(want.Name))
		}
	}
	if err := c.confirm(want); err != nil {
		return nil, errors.Join(err, c.Down(want.Name))
	}
	return steps, nil
}

// confirm reads the bond back: the first thing that is not as asked is an error.
func (c *Client) confirm(want Bond) error {
	want, err := want.Check()
	if err != nil {
		return err
	}
	have, err := c.Interfaces()
	if err != nil {
		return err
	}
	if d := firstDifference(want, have); d != nil {
		return d.err()
	}
	return nil
}
