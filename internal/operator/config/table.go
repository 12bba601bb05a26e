package config

import (
	"flag"
	"io"
	"strings"
)

// table is the flag set in the order in which people read it.
type table struct {
	set     *flag.FlagSet
	options []*option
	area    string
	found   map[*option]source
	ignored map[string]source
}

// option is one flag with its variable.
type option struct {
	value
	area     string
	name     string
	standard string // default
	operand  string // what the value is called in the help text; empty for switches
	help     string
	fallback string // a second variable that gives the default
	shown    string // the default as shown to people, where it is not a constant
}

// source is a value as somebody gave it, and where. The last one counts.
type source struct {
	name  string // -server.port or LOCKSTEP_SERVER_PORT
	value string
}

// value checks and stores the text of an option.
type value struct {
	store   func(text string) error // the error says what would be accepted
	current func() string
	bare    bool // may stand without a value
}

func newTable(c *Config) *table {
	t := &table{
		set:     flag.NewFlagSet("lockstep", flag.ContinueOnError),
		found:   map[*option]source{},
		ignored: map[string]source{},
	}
	t.set.SetOutput(io.Discard)
	c.register(t)
	for _, i := range ignoredFlags {
		t.set.Var(captured{bare: i.bare, take: func(text string) {
			t.ignored[i.name] = source{"-" + i.name, text}
		}}, i.name, "")
	}
	return t
}

func (t *table) section(area string) { t.area = area }

// add registers a flag. A default that the option itself would refuse is a
// mistake of ours, which the tests find.
func (t *table) add(v value, name, standard, operand, help string) *option {
	o := &option{value: v, area: t.area, name: name, standard: standard, operand: operand, help: help}
	t.options = append(t.options, o)
	t.set.Var(captured{bare: v.bare, take: func(text string) {
		t.found[o] = source{"-" + name, text}
	}}, name, help)
	return o
}

// or names another variable that gives the default, and how the default is shown.
func (o *option) or(variable, shown string) {
	o.fallback, o.shown = variable, shown
}

func (t *table) option(name string) *option {
	for _, o := range t.options {
		if o.name == name {
			return o
		}
	}
	return nil
}

// names lists everything that may stand on the command line, without dashes.
func (t *table) names() []string {
	var all []string
	t.set.VisitAll(func(f *flag.Flag) { all = append(all, f.Name) })
	return all
}

// prefix begins the name of every variable of ours.
const prefix = "LOCKSTEP_"

// variable is the flag's name as an environment variable.
func variable(name string) string {
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// captured is a flag.Value that keeps the text for later. So the flag package
// never stops at a bad value, and all of them can be reported at once.
type captured struct {
	bare bool
	take func(text string)
}

func (captured) String() string          { return "" }
func (c captured) Set(text string) error { c.take(text); return nil }
func (c captured) IsBoolFlag() bool      { return c.bare }
