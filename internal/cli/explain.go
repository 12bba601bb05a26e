package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// entryView is a catalogue entry for -o json and -o yaml.
type entryView struct {
	Code     string `json:"code"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Sentence string `json:"sentence"`
	ToDo     string `json:"toDo"`
}

func (a *app) explain() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a reason and what to do",
		Example: `  kubectl lockstep explain               # all of them
  kubectl lockstep explain PodFailing
  kubectl lockstep explain LS-103`,
		Args: oneOrNone("explain CODE, like explain PodFailing or explain LS-103"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return codes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.explainAll()
			}
			entry, ok := entryOf(args[0])
			if !ok {
				return fmt.Errorf("there is no reason %q; accepted: %s", args[0], similar(args[0]))
			}
			if a.form != formTable {
				return a.answer(entryViewOf(entry))
			}
			p := a.page()
			p.Line(screen.In(screen.Strong, string(entry.Code)), screen.Text(entry.ID()), screen.In(screen.Faint, entry.Kind.String()))
			addMeaning(p, entry.Sentence, entry.ToDo)
			return a.print(p)
		},
	}
	return a.answers(command)
}

func (a *app) explainAll() error {
	var views []entryView
	var rows [][]screen.Piece
	for _, e := range reason.All() {
		views = append(views, entryViewOf(e))
		rows = append(rows, []screen.Piece{screen.Text(string(e.Code)), screen.Text(e.ID()), screen.Text(e.Kind.String()), screen.Text(e.Sentence)})
	}
	if a.form != formTable {
		return a.answer(views)
	}
	p := a.page()
	p.Table(0, []string{"CODE", "ID", "KIND", "MEANING"}, rows)
	return a.print(p)
}

func entryViewOf(e reason.Entry) entryView {
	return entryView{string(e.Code), e.ID(), e.Kind.String(), e.Sentence, e.ToDo}
}

// similar returns the codes that contain the typed text, or where to find all codes.
func similar(typed string) string {
	var some []string
	for _, code := range codes() {
		if typed != "" && strings.Contains(strings.ToLower(code), strings.ToLower(typed)) {
			some = append(some, code)
		}
	}
	if len(some) == 0 {
		return "a code or a number that kubectl lockstep explain lists"
	}
	return few(some)
}

// addMeaning prints the meaning of a reason.
func addMeaning(p *screen.Page, sentence, toDo string) {
	const below = 2
	p.Indented(below, screen.Text(capital(sentence)+"."))
	p.Indented(below, screen.Text("What to do: "+toDo))
}

func capital(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// entryOf returns the entry with this code or number. Case does not matter.
func entryOf(name string) (reason.Entry, bool) {
	all := reason.All()
	i := slices.IndexFunc(all, func(e reason.Entry) bool {
		return strings.EqualFold(string(e.Code), name) || strings.EqualFold(e.ID(), name)
	})
	if i < 0 {
		return reason.Entry{}, false
	}
	return all[i], true
}

func codes() []string {
	var all []string
	for _, e := range reason.All() {
		all = append(all, string(e.Code))
	}
	return all
}
