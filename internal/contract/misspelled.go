package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// misspelled tells of names on a StatefulSet that are no words, and of the words that are
// written nearly so. Names of other products are left alone: a name has to have a domain
// of the contract, or nearly one, and to be much longer than what differs.
func misspelled(m Metadata) []string {
	var found []string
	for _, p := range m.places()[:2] {
		for _, key := range slices.Sorted(maps.Keys(p.entries)) {
			if meant := m.neighbours(key); len(meant) > 0 && !off(p.entries[key]) {
				found = append(found, fmt.Sprintf("%s %s has no effect: did you mean %s?", p.as, key, strings.Join(meant, " or ")))
			}
		}
	}
	return found
}

// neighbours returns the words for StatefulSets that a name is near to, with what they are
// written as; none for a word, and none that is there anyway.
func (m Metadata) neighbours(key string) []string {
	if _, is := word(key); is {
		return nil
	}
	spelled := spellingOf(key)
	var near []string
	for _, w := range words {
		if w.Writer == you && strings.Contains(w.On, onStatefulSet) && spelled.near(spellingOf(w.Name)) && !m.has(w) {
			near = append(near, w.As+" "+w.Name)
		}
	}
	return near
}

// has reports whether a word stands where it counts.
func (m Metadata) has(w Word) bool {
	return slices.ContainsFunc(m.places(), func(p place) bool { return p.counts(w) && p.entries[w.Name] != "" })
}

// spelling is a name without what people confuse: case, and dashes with underscores.
type spelling struct {
	domain string // before the slash; empty: none
	name   string
}

func spellingOf(key string) spelling {
	key = strings.ReplaceAll(strings.ToLower(key), "_", "-")
	domain, name, found := strings.Cut(key, "/")
	if !found {
		return spelling{name: key}
	}
	return spelling{domain, name}
}

const (
	// typos is how many letters of a name may differ, and of a domain.
	typos = 2
	// shortest is how long a name must be so that it is no coincidence, in a domain that others
	// use as well.
	shortest = 8
	// ownDomain is used by nobody else.
	ownDomain = "lockstep.dev"
)

// near reports whether somebody who wrote s probably meant the other one: the domain is
// the same and the name nearly so, or the other way round.
func (s spelling) near(other spelling) bool {
	if s.domain == other.domain {
		return (len(s.name) >= shortest || s.domain == ownDomain) && (distance(s.name, other.name) <= typos || oneWordApart(s.name, other.name))
	}
	return s.name == other.name && (ours(s.domain) || distance(s.domain, other.domain) <= typos)
}

// ours reports whether names of the contract have this domain; some have none.
func ours(domain string) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.Writer == you && spellingOf(w.Name).domain == domain })
}

// oneWordApart reports whether names of at least four words differ in one of them.
func oneWordApart(a, b string) bool {
	const enough = 4
	left, right := strings.Split(a, "-"), strings.Split(b, "-")
	if len(left) != len(right) || len(left) < enough {
		return false
	}
	apart := 0
	for i := range left {
		if left[i] != right[i] {
			apart++
		}
	}
	return apart == 1
}

// distance returns how many letters have to be inserted, removed or replaced to make one
// text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
