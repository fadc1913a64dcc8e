package qdiscstat

import "bondrepro/qdiscstat/counters"

func decodeOptions(kind string, raw []byte) *counters.Options { return nil }
