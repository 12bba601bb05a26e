package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	onStatefulSet = "StatefulSet"
	asLabel       = "label"
	asAnnotation  = "annotation"
)

// place is where names stand on a StatefulSet.
type place struct {
	as      string // label or annotation
	where   string // said after the name; empty: on the StatefulSet itself
	entries map[string]string
}

func (m Metadata) places() []place {
	return []place{
		{asAnnotation, "", m.Annotations}, {asLabel, "", m.Labels},
		{asAnnotation, " of the pod template", m.PodAnnotations}, {asLabel, " of the pod template", m.PodLabels},
	}
}

// counts reports whether a word has its effect in a place.
func (p place) counts(w Word) bool {
	return p.where == "" && strings.Contains(w.On, onStatefulSet) && slices.Contains(w.kinds(), p.as)
}

// kinds returns as what the word may be written: label, annotation or both.
func (w Word) kinds() []string {
	var kinds []string
	for _, kind := range []string{asAnnotation, asLabel} {
		if strings.Contains(w.As, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// misplaced tells of words that stand where they have no effect, and where they have one. A
// word that has the same value in its right place says nothing else: charts often write
// all their labels on pod templates, too. So it is with a group that has a label.
func misplaced(m Metadata) []string {
	var found []string
	for _, p := range m.places() {
		for _, key := range slices.Sorted(maps.Keys(p.entries)) {
			w, is := word(key)
			if !is || w.Writer != you || p.counts(w) || off(p.entries[key]) || m.hasEffect(w, p.entries[key]) {
				continue
			}
			found = append(found, fmt.Sprintf("%s %s%s has no effect: it has an effect only as %s on %s", p.as, key, p.where, w.As, w.On))
		}
	}
	return found
}

// hasEffect reports whether a word has the same value where it counts, or names the group,
// which pods may have in a label of their own.
func (m Metadata) hasEffect(w Word, value string) bool {
	if w.Name == GroupLabel {
		_, grouped := Group(m.Labels, m.Annotations)
		return grouped
	}
	for _, p := range m.places() {
		if there, is := p.entries[w.Name]; is && p.counts(w) && there == value {
			return true
		}
	}
	return false
}

func word(name string) (Word, bool) {
	for _, w := range words {
		if w.Name == name {
			return w, true
		}
	}
	return Word{}, false
}
