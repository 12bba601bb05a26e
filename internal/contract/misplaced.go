package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	onStatefulSet     = "StatefulSet"
	onStatefulCluster = "StatefulCluster"
	asLabel           = "label"
	asAnnotation      = "annotation"
)

// place is one of the label or annotation maps of an object.
type place struct {
	kind    string // of the object
	as      string // label or annotation
	where   string // what messages add after the name; empty for the object itself
	entries map[string]string
}

func (m Metadata) places() []place {
	kind := m.kind()
	return []place{
		{kind, asAnnotation, "", m.Annotations}, {kind, asLabel, "", m.Labels},
		{kind, asAnnotation, " of the pod template", m.PodAnnotations}, {kind, asLabel, " of the pod template", m.PodLabels},
	}
}

func (m Metadata) kind() string { return cmp.Or(m.Kind, onStatefulSet) }

// counts reports whether a word has an effect in a place.
func (p place) counts(w Word) bool {
	return p.where == "" && w.on(p.kind) && slices.Contains(w.kinds(), p.as)
}

// on reports whether objects of a kind have the word.
func (w Word) on(kind string) bool { return slices.Contains(strings.Split(w.On, ", "), kind) }

// kinds returns how the word may be written: as label, annotation or both.
func (w Word) kinds() []string {
	var kinds []string
	for _, kind := range []string{asAnnotation, asLabel} {
		if strings.Contains(w.As, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// misplaced reports words in a place without effect, and where they have an effect. A word that has the same
// value in the right place is not reported, because charts often add all of their labels to pod templates.
// Nor is the group label if the StatefulSet has a group.
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

// hasEffect reports whether a word has the same value where it counts. The group label has an effect if the
// StatefulSet belongs to any group, because pods may have a group label of their own.
func (m Metadata) hasEffect(w Word, value string) bool {
	if w.Name == GroupLabel && m.kind() == onStatefulSet {
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
