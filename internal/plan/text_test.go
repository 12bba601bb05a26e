package plan_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

func TestTextIsMadePlain(t *testing.T) {
	for text, want := range map[string]string{
		"zone-a":                 "zone-a",
		"":                       "",
		"日本語 ä":                  "日本語 ä",
		"a\x1b[2J\nb\u202ec":     "a?[2J?b?c",
		"\xffx":                  "?x",
		strings.Repeat("x", 20):  strings.Repeat("x", 20),
		strings.Repeat("x", 21):  strings.Repeat("x", 17) + "...",
		strings.Repeat("ä", 11):  strings.Repeat("ä", 8) + "...",
		strings.Repeat("\n", 30): strings.Repeat("?", 17) + "...",
	} {
		if got := plan.Plain(text, 20); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Names of pods, zones and holders may be any text that a user wrote into a Lease.
func TestTheTextOfAWaitIsPlainAndBounded(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		because := plan.Refusal{Code: reason.GroupHeld, Zone: text, Pod: text, Detail: text}
		for kind, got := range map[string]string{
			"the sentence": because.Sentence(), "the notation": because.String(), "the holder": plan.Holder("manual/" + text).Plain(),
		} {
			if len(got) > 1200 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s of %.20q has %d bytes: %.80q", kind, text, len(got), got)
			}
		}
	}
}
