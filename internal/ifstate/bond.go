package ifstate

import (
	"os"
	"path/filepath"
	"strings"
)

const sysDir = "/sys/class/net/"

// readBond reads a bond's slaves and its options that can be written.
func readBond(name string) (*Bond, error) {
	dir := filepath.Join(sysDir, name, "bonding")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, failed("read the bond", name, err)
	}
	b := &Bond{Options: map[string]string{}}
	for _, e := range entries {
		value, err := readFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // ad_* of a bond in another mode, for some users
		}
		if e.Name() == "slaves" {
			b.Slaves = strings.Fields(value)
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o200 != 0 {
			b.Options[e.Name()] = value
		}
	}
	return b, nil
}

// readSlave reads what an interface has of its bond, as far as it is there.
func readSlave(l link) *Slave {
	dir := filepath.Join(sysDir, l.name, "bonding_slave")
	mac, err := readFile(filepath.Join(dir, "perm_hwaddr"))
	if err != nil {
		return nil
	}
	queue, _ := readFile(filepath.Join(dir, "queue_id"))
	return &Slave{MAC: mac, QueueID: queue, Prio: l.prio}
}

func readFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}
