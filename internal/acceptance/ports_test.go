package acceptance

import (
	"testing"

	"github.com/vishvananda/netlink"
)

func setUp(t *testing.T, name string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		t.Fatal(err)
	}
}
