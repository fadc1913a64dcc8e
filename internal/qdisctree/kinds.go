package qdisctree

// kind is how the options of one kind of qdisc or class are put back.
type kind struct {
	// settings turns the dumped TCA_OPTIONS into those that make the same; nil: the kind takes none.
	settings func(dumped []byte) []byte
	// words writes settings as tc's arguments.
	words func(settings []byte) []string
	// unable names what can't be put back in dumped options; nil: nothing.
	unable func(dumped []byte) []string
}

// kinds are the qdiscs that can be put back.
var kinds = map[string]kind{
	"bfifo":      {settings: asDumped, words: fifoWords("b")},
	"fq":         {settings: asDumped, words: fqWords},
	"fq_codel":   {settings: fqCodelSettings, words: fqCodelWords},
	"htb":        {settings: htbSettings, words: htbWords, unable: htbUnable},
	"mq":         {},
	"noqueue":    {},
	"pfifo":      {settings: asDumped, words: fifoWords("")},
	"pfifo_fast": {}, // dumps its fixed priority map, takes nothing (pfifo_fast_init, net/sched/sch_generic.c)
	"tbf":        {settings: tbfSettings, words: tbfWords},
}

// classKinds are the qdiscs whose classes are added by messages of their own.
var classKinds = map[string]kind{
	"htb": {settings: htbClassSettings, words: htbClassWords, unable: htbUnable},
}

func asDumped(dumped []byte) []byte { return append([]byte(nil), dumped...) }

// set is settings for a kind of the table, or what was dumped for an unknown one, which is only shown.
func set(table map[string]kind, name string, dumped []byte) []byte {
	k, known := table[name]
	switch {
	case !known:
		return asDumped(dumped)
	case k.settings == nil:
		return nil
	}
	return k.settings(dumped)
}

// wordsOf are tc's arguments for options of the kind.
func wordsOf(table map[string]kind, name string, options []byte) []string {
	if k := table[name]; k.words != nil {
		return k.words(options)
	}
	return nil
}

// extrasOf names what can't be put back in the dumped options of a kind.
func extrasOf(table map[string]kind, name string, dumped []byte) []string {
	if k := table[name]; k.unable != nil {
		return k.unable(dumped)
	}
	return nil
}
