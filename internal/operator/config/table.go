package config

import (
	"flag"
	"io"
	"strings"
)

// table is the flag set in the order of the help text.
type table struct {
	set     *flag.FlagSet
	options []*option
	area    string
	found   map[*option]source
	ignored map[string]source
}

// option is a flag with its variable.
type option struct {
	value
	area     string
	name     string
	standard string // default
	operand  string // the placeholder for the value in the help text; empty for switches
	help     string
	fallback string // a second variable that contains the default
	shown    string // the default in the help text if it is not constant
}

// source is a given value and its origin. The last one counts.
type source struct {
	name  string // -server.port or LOCKSTEP_SERVER_PORT
	value string
}

// value checks and stores the text of an option.
type value struct {
	store   func(text string) error // the error contains the accepted values
	current func() string
	bare    bool // may be given without a value
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

// add registers a flag. Tests check that the option accepts its default.
func (t *table) add(v value, name, standard, operand, help string) *option {
	o := &option{value: v, area: t.area, name: name, standard: standard, operand: operand, help: help}
	t.options = append(t.options, o)
	t.set.Var(captured{bare: v.bare, take: func(text string) {
		t.found[o] = source{"-" + name, text}
	}}, name, help)
	return o
}

// or sets another variable that contains the default, and the text of the default.
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

// names returns all names of flags, without dashes.
func (t *table) names() []string {
	var all []string
	t.set.VisitAll(func(f *flag.Flag) { all = append(all, f.Name) })
	return all
}

// prefix is the prefix of the names of lockstep's variables.
const prefix = "LOCKSTEP_"

// variable returns the name of the environment variable for a flag.
func variable(name string) string {
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// captured is a flag.Value that stores the text for later. Therefore the flag package does not
// stop at an invalid value, and all of them can be reported at once.
type captured struct {
	bare bool
	take func(text string)
}

func (captured) String() string          { return "" }
func (c captured) Set(text string) error { c.take(text); return nil }
func (c captured) IsBoolFlag() bool      { return c.bare }
