// Package house_test checks the structure of the code: which packages each area below internal may import,
// and which calls it must never contain. The tests only read the sources, so they cover all platforms and
// build tags.
package house_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/lockstep-dev/lockstep/"
	root   = "../../../" // of the module, relative to this folder
)

// An area is a folder below internal. Each folder with sources in it is a room of the area.
type area struct {
	knows []string        // areas, and single rooms of areas, that its rooms may import
	uses  []string        // modules, and packages of effects, that its rooms may import
	rooms map[string]room // additional imports of single rooms
}

type room struct {
	knows []string
	uses  []string
}

// outside are the modules that most areas may use. A new module is a decision: add it here and in go.mod, in
// a commit that explains it.
var outside = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/klog/v2",
	"go.opentelemetry.io", "github.com/prometheus", "github.com/sirupsen/logrus",
	"github.com/bombsimon/logrusr/v4", "golang.org/x/time",
}

// effects are the packages of the standard library that do I/O or bring in randomness and deadlines. An area
// that does not use them computes results from arguments.
var effects = []string{"context", "log", "math/rand", "net", "os", "syscall"}

var everything = slices.Concat(outside, effects)

var areas = map[string]area{
	"api": {uses: []string{"k8s.io/apimachinery"}},
	"plan": {rooms: map[string]room{
		"plan":       {knows: []string{"plan/reason"}},
		"plan/group": {knows: []string{"plan", "plan/reason"}}, // a kind does not know another kind
		"plan/pool":  {knows: []string{"plan", "plan/reason"}},
	}},
	"contract": {knows: []string{"plan"}},
	"render":   {knows: []string{"plan", "contract"}},
	"lock": {
		knows: []string{"plan", "contract"},
		rooms: map[string]room{
			"lock/hold":            {knows: []string{"lock/history"}},                                        // the record contains the history
			"lock/record":          {knows: []string{"lock/history"}, uses: []string{"k8s.io/apimachinery"}}, // it checks names
			"lock/invariant":       {knows: []string{"lock/hold"}},                                           // it checks plans and the records in the hold
			"lock/invariant/pools": {knows: []string{"lock/hold", "lock/invariant"}},
			"lock/lease":           {knows: []string{"lock/hold", "lock/record"}, uses: everything},
		},
	},
	"show": {
		knows: []string{"plan", "contract"}, uses: everything,
		rooms: map[string]room{
			"show/report": {knows: []string{"show/telemetry"}},
			"show/spans":  {knows: []string{"show/telemetry"}},
		},
	},
	"cluster": {
		knows: []string{"api", "plan", "contract", "lock", "render"}, uses: everything,
		rooms: map[string]room{
			"cluster/budgets":   {knows: []string{"cluster/dynamicwatch"}},
			"cluster/reference": {knows: []string{"cluster/dynamicwatch"}},
			"cluster/observe":   {knows: []string{"cluster/diagnosis", "cluster/parallel"}},
			"cluster/pools": { // both convert pods alike; it reads the node affinity of volumes as the scheduler does
				knows: []string{"cluster/dynamicwatch", "cluster/observe", "cluster/parallel"}, uses: []string{"k8s.io/component-helpers"},
			},
		},
	},
	"act": {
		knows: []string{"api", "plan", "contract", "lock", "render", "show", "cluster"}, uses: everything,
	},
	"control": {
		knows: []string{"api", "plan", "contract", "lock", "show", "cluster"}, uses: everything,
		rooms: map[string]room{
			"control/groups":       {knows: []string{"control/contest", "control/failing", "control/loop"}},
			"control/budget":       {knows: []string{"control/loop"}},
			"control/cabundle":     {knows: []string{"control/loop"}},
			"control/rolloutgroup": {knows: []string{"control/loop"}},
			"control/pools":        {knows: []string{"control/failing", "control/loop"}},
		},
	},
	"serve": {knows: []string{"plan", "contract", "lock", "show", "cluster"}, uses: everything},
	"cli": {
		knows: []string{"api", "plan", "contract", "lock", "cluster", "proof/fixture"}, // it prints snapshots
		uses: append([]string{
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/mattn/go-runewidth", "golang.org/x/term", "sigs.k8s.io/yaml",
		}, everything...),
		rooms: map[string]room{"cli": {knows: []string{"cli/screen"}}},
	},
	"operator": {
		knows: []string{"plan", "contract", "lock", "show", "cluster", "act", "control", "serve"}, uses: everything,
		rooms: map[string]room{"operator": {knows: []string{"operator/config"}}},
	},
	"proof": {
		knows: []string{"plan", "contract", "lock"},
		rooms: map[string]room{
			"proof/fixture/draw": {knows: []string{"proof/fixture"}, uses: []string{"pgregory.net/rapid"}},
			"proof/sim":          {knows: []string{"proof/sim/judge"}, uses: []string{"math/rand"}}, // random numbers come from a seed
			"proof/sim/pools":    {uses: []string{"math/rand"}},
			"proof/sim/walk": {
				// The walk simulates the API server that calls the webhooks, the store of holds and the
				// reads of groups.
				knows: []string{"proof/sim/judge", "cluster", "serve/admission"},
				uses:  []string{"context", "math/rand", "github.com/sirupsen/logrus", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"},
			},
			"proof/apitest": {uses: []string{"context", "net/http", "k8s.io/apimachinery", "k8s.io/client-go"}},
			"proof/netns":   {uses: []string{"context", "net", "os", "syscall"}},
		},
	},
}

func TestEveryAreaImportsOnlyItsKnownPackages(t *testing.T) {
	inUse := map[string]bool{}
	for file, imports := range importsOf(t, linked, "internal") {
		from := roomOf(file)
		if _, exists := areas[areaOf(from)]; !exists {
			t.Errorf("%s is in no area: move it into one", file)
			continue
		}
		inUse[areaOf(from)], inUse[from] = true, true
		for _, imported := range imports {
			if why := forbids(from, imported); why != "" {
				t.Errorf("%s: %s may not import %s: %s", file, from, imported, why)
			}
			for _, allowed := range allowances(from) {
				if within(imported)(allowed) {
					inUse[from+" "+allowed], inUse[areaOf(from)+" "+allowed], inUse[allowed] = true, true, true
				}
			}
		}
	}
	for _, unused := range unusedOf(inUse) {
		t.Errorf("%s: take it out of the table of areas", unused)
	}
}

// allowances returns the imports that a room may have: rooms of other areas and of its own, and modules.
func allowances(from string) []string {
	a := areas[areaOf(from)]
	r := a.rooms[from]
	var all []string
	for _, known := range slices.Concat(a.knows, r.knows) {
		all = append(all, module+"internal/"+known)
	}
	return slices.Concat(all, a.uses, r.uses)
}

// unusedOf returns the allowances that no source needs. An unused allowance would permit an import without a
// decision.
func unusedOf(inUse map[string]bool) []string {
	var unused []string
	for name, a := range areas {
		if !inUse[name] {
			unused = append(unused, name+" does not exist")
		}
		for _, known := range a.knows {
			if !inUse[name+" "+module+"internal/"+known] {
				unused = append(unused, name+" does not import "+known)
			}
		}
		for _, module := range a.uses {
			if shared := slices.Contains(everything, module); shared && !inUse[module] || !shared && !inUse[name+" "+module] {
				unused = append(unused, name+" does not use "+module)
			}
		}
		for from, r := range a.rooms {
			if !inUse[from] {
				unused = append(unused, from+" does not exist")
			}
			for _, known := range r.knows {
				if !inUse[from+" "+module+"internal/"+known] {
					unused = append(unused, from+" does not import "+known)
				}
			}
			for _, module := range r.uses {
				if !slices.Contains(everything, module) && !inUse[from+" "+module] {
					unused = append(unused, from+" does not use "+module)
				}
			}
		}
	}
	slices.Sort(unused)
	return unused
}

// forbids returns why a room may not import a package, or "" if it may.
func forbids(from, imported string) string {
	domain, _, _ := strings.Cut(imported, "/")
	inModule := within(imported)(strings.TrimSuffix(module, "/"))
	switch {
	case slices.ContainsFunc(allowances(from), within(imported)), imported == module+"internal/"+from:
		return ""
	case inModule:
		return "the table of areas does not say that it knows it"
	case strings.Contains(domain, "."):
		return "it may not use this module"
	case slices.ContainsFunc(effects, within(imported)):
		return "it takes time, chance and what the world holds as arguments"
	}
	return ""
}

func TestTheTableOfAreasForbids(t *testing.T) {
	for name, tc := range map[string]struct {
		room, imported string
		want           bool
	}{
		"an area may import an area that it knows":             {"act", module + "internal/plan", false},
		"a room may import a room of its area that it knows":   {"lock/lease", module + "internal/lock/hold", false},
		"a room may import the standard library":               {"plan", "time", false},
		"an area may not import an area that it does not know": {"plan", module + "internal/lock/hold", true},
		"rooms of one area do not know each other":             {"lock/hold", module + "internal/lock/lease", true},
		"areas of the same level do not know each other":       {"serve/admission", module + "internal/act", true},
		"the configuration is handed down, not fetched":        {"serve/server", module + "internal/operator/config", true},
		"the operator does not link the simulation":            {"operator", module + "internal/proof/sim", true},
		"the plugin prints snapshots":                          {"cli", module + "internal/proof/fixture", false},
		"the plugin does not link the simulation":              {"cli", module + "internal/proof/sim", true},
		"the simulation draws from a seed":                     {"proof/sim", "math/rand/v2", false},
		"the simulation never uses a client":                   {"proof/sim", "k8s.io/client-go/kubernetes", true},
		"the walk runs the real webhooks":                      {"proof/sim/walk", module + "internal/serve/admission", false},
		"the walk does not import the package that writes":     {"proof/sim/walk", module + "internal/act", true},
		"a plan has no type of the API":                        {"plan", "k8s.io/api/apps/v1", true},
		"a plan reads no file":                                 {"plan", "os", true},
		"a plan writes no log":                                 {"plan", "log/slog", true},
		"the rules of the hold have no context":                {"lock/hold", "context", true},
		"a module that is not in the table is refused":         {"serve/server", "github.com/gorilla/mux", true},
		"a module's name is not the beginning of another's":    {"operator/config", "k8s.io/apimachinery2", true},
		"a folder that is in no area is not imported":          {"operator", module + "internal/helpers", true},
	} {
		t.Run(name, func(t *testing.T) {
			why := forbids(tc.room, tc.imported)
			if got := why != ""; got != tc.want {
				t.Errorf("%s imports %s: forbidden %t (%q), want %t", tc.room, tc.imported, got, why, tc.want)
			}
		})
	}
}

// A program parses flags, makes one call and exits with a code.
func TestProgramsImportOnlyTheAreasThatTheyStart(t *testing.T) {
	allowed := map[string][]string{
		"cmd/lockstep":         {"operator", "operator/config"},
		"cmd/kubectl-lockstep": {"cli"},
	}
	for file, imports := range importsOf(t, linked, "cmd") {
		program := path.Dir(file)
		for _, imported := range imports {
			if own, inModule := strings.CutPrefix(imported, module+"internal/"); inModule && !slices.Contains(allowed[program], own) {
				t.Errorf("%s may not import %s: it may import %q of this module", file, imported, allowed[program])
			}
		}
	}
}

// The suites test lockstep from outside, so they share no rule with it.
func TestTheSuitesKnowNothingOfLockstep(t *testing.T) {
	const network = "internal/proof/netns"
	seen := false
	for file, imports := range importsOf(t, func(string) bool { return true }, "integration-tests") {
		for _, imported := range imports {
			own, inModule := strings.CutPrefix(imported, module)
			switch {
			case !inModule || within(own)("integration-tests"):
			case own == network:
				seen = true
			default:
				t.Errorf("%s may not import %s: of this module the suites may import %s", file, imported, network)
			}
		}
	}
	if !seen {
		t.Errorf("no suite imports %s: was anything read?", network)
	}
}

// roomOf returns the folder of a file, relative to internal.
func roomOf(file string) string { return strings.TrimPrefix(path.Dir(file), "internal/") }

// areaOf returns the area of a room.
func areaOf(room string) string {
	name, _, _ := strings.Cut(room, "/")
	return name
}

// within returns a function that reports whether the import is the prefix or below it.
func within(imported string) func(prefix string) bool {
	return func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/")
	}
}

// linked reports whether a file can be linked into a program, which test files cannot.
func linked(name string) bool { return !strings.HasSuffix(name, "_test.go") }

// importsOf returns the imports of the Go files below a folder of the module for which concerns returns
// true. Its keys are file names relative to the root of the module.
func importsOf(t *testing.T, concerns func(name string) bool, folder string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(root+folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || !concerns(name) {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(filepath.ToSlash(name), root)
		all[file] = nil
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			all[file] = append(all[file], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read %s: %v", folder, err)
	}
	return all
}
