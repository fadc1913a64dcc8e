package bondctl

// TableEntry shows an option to the tests.
type TableEntry struct {
	Name  string
	Modes modeSet
	Since string
}

// Takes tells whether a mode takes the option.
func (e TableEntry) Takes(mode string) bool {
	m, _ := modeOf(mode)
	return e.Modes&m != 0
}

func entries(table []option) []TableEntry {
	all := make([]TableEntry, len(table))
	for i, o := range table {
		all[i] = TableEntry{Name: o.name, Modes: o.modes, Since: o.since}
	}
	return all
}

// The tables, for the tests.
var (
	BondTable  = entries(bondTable)
	SlaveTable = entries(slaveTable)
	ModeNames  = modeNames
)

// RoundTrip encodes a value and reads it back.
func RoundTrip(name, value string) (string, error) {
	o := find(append(bondTable[:len(bondTable):len(bondTable)], slaveTable...), name)
	d := Interfaces{"eth1": {Index: 7}}
	b, err := o.form.encode(value, d)
	if err != nil {
		return "", err
	}
	return o.form.read(b, d), nil
}
