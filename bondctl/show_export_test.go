package bondctl

import "encoding/json"

// RecordShow is what ReadShow would be made of now, for a file of testdata.
func RecordShow() ([]byte, error) {
	r, err := takeReadings()
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}
