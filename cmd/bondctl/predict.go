package main

import (
	"errors"
	"fmt"
	"net/netip"

	"bondrepro/bondctl"

	"github.com/spf13/cobra"
)

const predictLong = `predict prints which slave of a bond each UDP flow takes, computed as the running kernel does from the bond as it is now:
its mode, xmit_hash_policy, MAC address and the slaves that can send, in the order in which they were enslaved.

A flow is one destination and one source port. Datagrams are taken to be unfragmented and without a VLAN tag. It
only reads. What can't be predicted (balance-tlb, balance-alb, xmit_hash_policy encap3+4) is refused with the reason.`

const predictExample = `  bondctl predict bond0 --group 239.1.1.1+16 --port 6000 --source-port 40000
  bondctl predict bond0 --group 192.0.2.7 --dest-mac 52:54:00:12:34:56 --port 6000 --source-port 40000,40001`

// predictFlags are the flags of predict.
type predictFlags struct {
	group       string
	port        uint16
	source      string
	sourcePorts []uint
	destMAC     string
	json        bool
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:     "predict NAME --group ADDR[,ADDR...]|FIRST+COUNT --port N",
		Short:   "Print which slave each flow or multicast group takes",
		Long:    predictLong,
		Example: predictExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("predict: name one bond")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			flows, err := f.flows()
			if err != nil {
				return err
			}
			show, err := bondctl.ReadShow(args[0])
			if err != nil {
				return err
			}
			p, err := bondctl.Predict(show, args[0], flows)
			if err != nil {
				return err
			}
			return writeOut(cmd.OutOrStdout(), p, f.json)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.group, "group", "", "the destinations: addresses with commas, or the first and how many (239.1.1.1+16)")
	flags.Uint16Var(&f.port, "port", 0, "the destinations' UDP port")
	flags.StringVar(&f.source, "source", "", "the sender's address (default: the bond's, where it has only one)")
	flags.UintSliceVar(&f.sourcePorts, "source-port", nil, "the sender's UDP ports, which layer3+4 looks at: each is a flow")
	flags.StringVar(&f.destMAC, "dest-mac", "", "the MAC address that frames to a unicast address go to")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// flows are every destination with every source port.
func (f predictFlags) flows() ([]bondctl.Flow, error) {
	if f.group == "" || f.port == 0 {
		return nil, errors.New("predict: --group and --port are needed")
	}
	destinations, err := bondctl.ParseDestinations(f.group)
	if err != nil {
		return nil, fmt.Errorf("--group: %w", err)
	}
	flow := bondctl.Flow{Port: f.port, DestinationMAC: f.destMAC}
	if f.source != "" {
		if flow.Source, err = netip.ParseAddr(f.source); err != nil {
			return nil, fmt.Errorf("--source: %q is no address", f.source)
		}
	}
	ports := f.sourcePorts
	if len(ports) == 0 {
		ports = []uint{0}
	}
	var flows []bondctl.Flow
	for _, flow.Destination = range destinations {
		for _, port := range ports {
			if len(f.sourcePorts) > 0 && (port < 1 || port > 65535) {
				return nil, fmt.Errorf("--source-port: %d is no UDP port", port)
			}
			flow.SourcePort = uint16(port)
			flows = append(flows, flow)
		}
	}
	return flows, nil
}
