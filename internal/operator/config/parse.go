package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Warning is about a flag or a variable that has no effect, or whose value was changed.
type Warning struct {
	Name    string // the flag with its dash, or the variable
	Message string
}

// String returns the warning as one line.
func (w Warning) String() string { return w.Name + ": " + w.Message }

// Setting is the effective value of one flag.
type Setting struct {
	Name  string // without dash
	Value string
}

// Parse parses the arguments (without the program's name) and the variables. A flag takes
// precedence over its variable; an empty variable counts as unset.
//
// The error joins all problems. Each names its flag or variable, the value, and the accepted
// values. If the arguments ask for help, the error is only flag.ErrHelp: print Help and exit with
// success. Warnings are returned in any case. Parse makes no request to the cluster, so it cannot
// check whether a file, a namespace or an address exists.
func Parse(args []string, env Environment) (Config, []Warning, error) {
	var c Config
	t := newTable(&c)
	variables := index(env.Variables)

	problems := t.read(args)
	if slices.Contains(problems, flag.ErrHelp) {
		return Config{}, nil, flag.ErrHelp
	}
	warnings := t.fill(variables)
	unusable := t.store(variables)
	problems = append(problems, unusable...)
	if len(unusable) == 0 {
		warnings = append(warnings, t.fit(&c)...)
	}
	problems = append(problems, c.LeaderElection.problems()...)
	problems = append(problems, c.ServerTLS.problems()...)
	if c.PrintAdmissionPolicy && c.Kubernetes.Single() {
		problems = append(problems, errors.New("-print-admission-policy: must not be set with -kubernetes.namespace: there, a Role limits lockstep"))
	}
	c.Operator.Namespace = cmp.Or(c.Operator.Namespace, strings.TrimSpace(env.ServiceAccountNamespace), fallbackNamespace)

	warnings = append(warnings, t.withoutEffect(c)...)
	if len(problems) > 0 {
		return Config{}, warnings, errors.Join(problems...)
	}
	return c, warnings, nil
}

// Settings returns the effective value of every flag, in the order of the help text. It contains
// no secrets.
func (c Config) Settings() []Setting {
	t := newTable(&c)
	all := make([]Setting, 0, len(t.options))
	for _, o := range t.options {
		all = append(all, Setting{o.name, o.current()})
	}
	return all
}

// read parses the arguments, and continues after each error.
func (t *table) read(args []string) []error {
	var problems []error
	for {
		err := t.set.Parse(args)
		rest := t.set.Args()
		switch {
		case errors.Is(err, flag.ErrHelp):
			return []error{flag.ErrHelp}
		case err != nil:
			if isMalformed(err) { // the flag package does not skip these
				rest = rest[1:]
			}
			wrong := args[len(args)-len(rest)-1]
			problems = append(problems, t.explain(wrong, err))
			if isUnknown(err) && !strings.Contains(wrong, "=") && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				rest = rest[1:] // probably its value
			}
		case len(rest) > 0:
			problems = append(problems, fmt.Errorf("unexpected argument %q: flags begin with a dash, and the value of a switch follows an equals sign", rest[0]))
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return problems
		}
		args = rest
	}
}

// explain returns an error for an argument that is not a flag of lockstep.
func (t *table) explain(argument string, err error) error {
	if !isUnknown(err) {
		return fmt.Errorf("argument %q: %w", argument, err)
	}
	name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
	if near := nearest(name, t.names()); near != "" {
		return fmt.Errorf("unknown flag -%s: did you mean -%s? (-h lists all)", name, near)
	}
	return fmt.Errorf("unknown flag -%s (-h lists all)", name)
}

// isUnknown reports whether a flag is unknown. The flag package distinguishes its errors only by
// their text.
func isUnknown(err error) bool {
	return strings.HasPrefix(err.Error(), "flag provided but not defined")
}

func isMalformed(err error) bool { return strings.HasPrefix(err.Error(), "bad flag syntax") }

// fill adds settings from the environment that the command line does not contain. It warns about
// unknown variables with lockstep's prefix.
func (t *table) fill(variables map[string]string) []Warning {
	known := map[string]string{}
	for _, name := range t.names() {
		known[variable(name)] = name
	}
	var warnings []Warning
	for _, v := range sorted(variables) {
		text := variables[v]
		if !strings.HasPrefix(v, prefix) || text == "" {
			continue
		}
		switch name, ours := known[v]; {
		case isServiceLink(v, text):
			if ours {
				warnings = append(warnings, Warning{v, fmt.Sprintf("ignored: %q was set by Kubernetes for a Service; enableServiceLinks: false in the pod avoids that", text)})
			}
		case !ours:
			warnings = append(warnings, Warning{v, unknownVariable(v, known)})
		default:
			t.fillOne(name, source{v, text})
		}
	}
	return warnings
}

func (t *table) fillOne(name string, from source) {
	o := t.option(name)
	if o == nil {
		if _, said := t.ignored[name]; !said {
			t.ignored[name] = from
		}
		return
	}
	if _, said := t.found[o]; !said {
		t.found[o] = from
	}
}

func unknownVariable(v string, known map[string]string) string {
	if near := nearest(v, sorted(known)); near != "" {
		return "unknown variable, ignored; did you mean " + near + "?"
	}
	return "unknown variable, ignored"
}

// serviceLink matches variables that Kubernetes sets in every pod for the Services of its
// namespace. If a Service's name begins with lockstep, its variables have lockstep's prefix.
var serviceLink = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

func isServiceLink(variable, text string) bool {
	return serviceLink.MatchString(variable) ||
		strings.HasSuffix(variable, "_PORT") && strings.Contains(text, "://")
}

// store checks and stores all values, in the order of the table.
func (t *table) store(variables map[string]string) []error {
	var problems []error
	for _, o := range t.options {
		from, said := t.found[o]
		if !said {
			from = source{"-" + o.name, o.standard}
			if second := variables[o.fallback]; second != "" {
				from = source{o.fallback, second}
			}
		}
		if err := o.value.store(from.value); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", from.name, from.value, err))
		}
	}
	return problems
}

// withoutEffect returns warnings about settings without effect.
func (t *table) withoutEffect(c Config) []Warning {
	var warnings []Warning
	for _, i := range ignoredFlags {
		if from, said := t.ignored[i.name]; said {
			warnings = append(warnings, Warning{from.name, "accepted and ignored: " + i.why})
		}
	}
	if from, said := t.found[t.option("namespaces.selector")]; said && c.Kubernetes.Single() {
		warnings = append(warnings, Warning{from.name, "has no effect with -kubernetes.namespace"})
	}
	if from, said := t.found[t.option("webhooks.ca-bundle-names")]; said && c.ServerTLS.Enabled && !c.InjectsCA() {
		warnings = append(warnings, Warning{from.name, "has no effect because lockstep does not write the CA into webhook configurations"})
	}
	if from, said := t.found[t.option("webhooks.update-ca-bundle")]; said && c.Webhooks.UpdateCABundle && c.ServerTLS.OwnFiles() && !c.InjectsCA() {
		warnings = append(warnings, Warning{from.name, "has no effect with -server-tls.cert-file and without -server-tls.ca-file"})
	}
	return warnings
}

// problems compares durations with each other, as client-go does when an election begins, which
// would be too late. A duration that was already rejected is zero here and not compared.
func (l LeaderElection) problems() []error {
	if !l.Enabled {
		return nil
	}
	var problems []error
	if l.LeaseDuration > 0 && l.LeaseDuration <= l.RenewDeadline {
		problems = append(problems, fmt.Errorf("-leader-election.lease-duration=%v: must be more than -leader-election.renew-deadline, which is %v", l.LeaseDuration, l.RenewDeadline))
	}
	if jittered := l.RetryPeriod * 6 / 5; l.RenewDeadline > 0 && l.RenewDeadline <= jittered {
		problems = append(problems, fmt.Errorf("-leader-election.renew-deadline=%v: must be more than 1.2 times -leader-election.retry-period, which is %v", l.RenewDeadline, jittered))
	}
	return problems
}

// problems checks settings that depend on each other. A duration that was already rejected is
// zero here and not compared.
func (s ServerTLS) problems() []error {
	if !s.Enabled {
		return nil
	}
	var problems []error
	if (s.CertFile == "") != (s.KeyFile == "") {
		problems = append(problems, errors.New("-server-tls.cert-file and -server-tls.key-file: must be set together"))
	}
	if s.CAFile != "" && s.CertFile == "" {
		problems = append(problems, errors.New("-server-tls.ca-file: must be set with -server-tls.cert-file; a generated certificate has its own CA"))
	}
	if !s.SelfSigned.Enabled && s.CertFile == "" {
		problems = append(problems, errors.New("-server-tls.self-signed-cert.enabled=false: requires -server-tls.cert-file and -server-tls.key-file"))
	}
	if most := s.SelfSigned.mostPropagation(); s.SelfSigned.Expiration > 0 && s.SelfSigned.Propagation > most {
		problems = append(problems, fmt.Errorf("-server-tls.self-signed-cert.propagation=%v: must be at most a fifteenth of -server-tls.self-signed-cert.expiration, which is %v", s.SelfSigned.Propagation, most))
	}
	return problems
}

// index converts NAME=value pairs to a map.
func index(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, text, ok := strings.Cut(pair, "="); ok {
			m[name] = text
		}
	}
	return m
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
