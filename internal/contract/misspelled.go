package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// misspelled reports names on an object that are not part of the contract, and the similar words that
// are. To ignore names of other products, it requires that the domain equals one of the contract, or nearly
// so, and that the name is much longer than the difference.
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

// neighbours returns the words for objects of the kind that are similar to a name, with how they are written. It
// returns none if the name is a word itself, and omits words that are set.
func (m Metadata) neighbours(key string) []string {
	if _, is := word(key); is {
		return nil
	}
	spelled := spellingOf(key)
	var near []string
	for _, w := range words {
		if w.Writer == you && w.on(m.kind()) && spelled.near(spellingOf(w.Name)) && !m.has(w) {
			near = append(near, w.As+" "+w.Name)
		}
	}
	return near
}

// has reports whether a word is set where it counts.
func (m Metadata) has(w Word) bool {
	return slices.ContainsFunc(m.places(), func(p place) bool { return p.counts(w) && p.entries[w.Name] != "" })
}

// spelling is a name without differences that people confuse: case, and dashes or underscores.
type spelling struct {
	domain string // before the slash; empty for none
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
	// typos is the maximum number of different letters in a name or a domain.
	typos = 2
	// shortest is the minimum length of a similar name in a domain that other products use as well. The
	// similarity of a shorter name may be a coincidence.
	shortest = 8
	// ownDomain is used only by lockstep.
	ownDomain = "lockstep.dev"
)

// near reports whether s is probably a misspelling of other: the domains are equal and the names similar, or
// the names are equal and the domains similar.
func (s spelling) near(other spelling) bool {
	if s.domain == other.domain {
		return (len(s.name) >= shortest || s.domain == ownDomain) && (EditDistance(s.name, other.name) <= typos || oneWordApart(s.name, other.name))
	}
	return s.name == other.name && (ours(s.domain) || EditDistance(s.domain, other.domain) <= typos)
}

// ours reports whether names of the contract have this domain. Some have none.
func ours(domain string) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.Writer == you && spellingOf(w.Name).domain == domain })
}

// oneWordApart reports whether two names of at least four words differ in exactly one word.
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

// EditDistance returns how many bytes must be inserted, removed or replaced to turn one text into the other.
func EditDistance(a, b string) int {
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
