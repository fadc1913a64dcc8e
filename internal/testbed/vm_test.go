package testbed

import (
	"math"
	"reflect"
	"testing"
)

func TestThePartnersLinesFollowTheSlaves(t *testing.T) {
	g := &guestVM{nics: 2, partner: true}
	if got, want := g.Slaves(), []string{"52:54:00:b0:4d:01", "52:54:00:b0:4d:02"}; !reflect.DeepEqual(got, want) {
		t.Errorf("slaves %v", got)
	}
	if got, want := g.Partner(), []string{"52:54:00:b0:4d:03", "52:54:00:b0:4d:04"}; !reflect.DeepEqual(got, want) {
		t.Errorf("partner %v", got)
	}
	if got, want := g.cables(), [][2]int{{0, 2}, {1, 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("cables %v", got)
	}
	open := math.Inf(1)
	if got, want := g.rates([]float64{5}), []float64{5, open, open, open}; !reflect.DeepEqual(got, want) {
		t.Errorf("rates %v", got)
	}
	g.partner = false
	if g.Partner() != nil || g.cables() != nil || len(g.rates(nil)) != 2 {
		t.Errorf("without a partner: %v, cables %v, %d rates", g.Partner(), g.cables(), len(g.rates(nil)))
	}
}
