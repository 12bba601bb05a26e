// Package internal_test keeps the house in order: every package below internal
// and cmd is a room on a floor, and a room imports only from lower floors. The
// test reads the import clauses of the sources and nothing else, so it sees all
// platforms and build tags. Tests may import what they like; what is linked into
// the operator may not.
package internal_test

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

const module = "github.com/lockstep-dev/lockstep/"

// A room is one row of the table of floors.
type room struct {
	floor int
	uses  []string // packages from outside the house it may import, by prefix
	knows []string // the rooms it may import, where that is not "those on lower floors"
}

// beside is the floor of what stands next to the house: it sees floors 0 to 2,
// and only tests see it, and who names it among the rooms it knows.
const beside = -1

// outside is what the upper floors are built from. A new module is a decision:
// add it here, with go.mod, in a commit that says why.
var outside = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/klog/v2",
	"go.opentelemetry.io", "github.com/prometheus", "github.com/sirupsen/logrus",
	"github.com/bombsimon/logrusr/v4", "golang.org/x/time",
}

var house = map[string]room{
	"cmd/lockstep": {floor: 7, uses: outside, knows: []string{"internal/operator/config", "internal/operator"}},

	"cmd/kubectl-lockstep": {floor: 7, uses: []string{}, knows: []string{"internal/cli"}},

	"internal/operator": {floor: 6, uses: outside},
	// What people type shows what the operator sees and plans, and reads and writes
	// snapshots as text.
	"internal/cli": {floor: 6, uses: append([]string{
		"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/mattn/go-runewidth", "golang.org/x/term", "sigs.k8s.io/yaml",
	}, outside...), knows: []string{
		"internal/plan/reason", "internal/plan", "internal/contract", "internal/lock/hold", "internal/lock/lease", "internal/cluster/budgets", "internal/cluster/reference", "internal/cluster/observe", "internal/proof/fixture", "internal/api", "internal/cluster/clock", "internal/cluster/diagnosis", "internal/cluster/parallel",
	}},

	"internal/control/group":    {floor: 5, uses: outside},
	"internal/control/budget":   {floor: 5, uses: outside},
	"internal/control/cabundle": {floor: 5, uses: outside},

	"internal/control/rolloutgroup": {floor: 5, uses: outside},
	"internal/serve/admission":      {floor: 5, uses: outside},
	"internal/serve/server":         {floor: 5, uses: outside},

	"internal/cluster/observe": {floor: 4, uses: outside},
	"internal/act":             {floor: 4, uses: outside},
	"internal/show/report":     {floor: 4, uses: outside},
	"internal/control/loop":    {floor: 4, uses: outside},
	"internal/show/spans":      {floor: 4, uses: outside},

	"internal/lock/lease":     {floor: 3, uses: outside},
	"internal/cluster/access": {floor: 3, uses: outside},
	"internal/cluster/kind":   {floor: 3, uses: outside},
	// Budgets and mirrored resources are of kinds that may come and go.
	"internal/cluster/budgets": {floor: 3, uses: outside, knows: []string{
		"internal/contract/permission", "internal/plan/reason", "internal/plan", "internal/contract", "internal/api", "internal/cluster/kind",
	}},
	"internal/serve/certs": {floor: 3, uses: outside},
	"internal/act/hook":    {floor: 3, uses: outside},
	"internal/cluster/reference": {floor: 3, uses: outside, knows: []string{
		"internal/contract/permission", "internal/plan/reason", "internal/plan", "internal/api", "internal/cluster/kind",
	}},
	"internal/show/telemetry": {floor: 3, uses: outside},
	"internal/cluster/clock":  {floor: 3},

	// The judge knows what it judges: plans, and what the hold says about them.
	"internal/lock/invariant": {floor: 2, knows: []string{"internal/plan/reason", "internal/plan", "internal/lock/hold"}},
	"internal/contract":       {floor: 2},
	// What is remembered of rollouts is written with the hold.
	"internal/lock/hold":         {floor: 2, knows: []string{"internal/plan/reason", "internal/plan", "internal/lock/history"}},
	"internal/lock/history":      {floor: 2},
	"internal/api":               {floor: 2, uses: []string{"k8s.io/apimachinery"}},
	"internal/cluster/diagnosis": {floor: 2, uses: []string{"k8s.io/api", "k8s.io/apimachinery"}, knows: []string{"internal/plan"}},
	"internal/lock/freshness":    {floor: 2},
	"internal/control/contest":   {floor: 2},
	"internal/operator/config":   {floor: 2, uses: []string{"k8s.io/apimachinery", "net/netip", "net/url"}},

	"internal/plan":                {floor: 1, knows: []string{"internal/plan/reason"}},
	"internal/plan/reason":         {floor: 0},
	"internal/contract/permission": {floor: 0},
	"internal/cluster/parallel":    {floor: 0},

	"internal/proof/sim": {floor: beside, uses: []string{"math/rand"}}, // seeded, never by chance
	// The walk lets webhooks judge, holds be stored and groups be read as they are, before an
	// invented API server, for which it plays the client. Only tests see the walk, so nothing
	// is linked into the operator that it sees.
	"internal/proof/sim/walk": {floor: beside, uses: []string{"context", "math/rand", "github.com/sirupsen/logrus", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"}, knows: []string{
		"internal/plan/reason", "internal/plan", "internal/contract", "internal/lock/hold", "internal/lock/freshness", "internal/lock/invariant", "internal/lock/lease", "internal/cluster/observe", "internal/serve/admission", "internal/proof/sim",
	}},
	"internal/proof/mutants":  {floor: beside},
	"internal/show/dashboard": {floor: beside},
	"internal/proof/fixture":  {floor: beside, uses: []string{"pgregory.net/rapid"}},
	"internal/proof/hostile":  {floor: beside},
	// What surrounds a test: the API servers that tests play, a network of their own.
	"internal/proof/apitest": {floor: beside, uses: []string{"context", "net/http", "k8s.io/apimachinery", "k8s.io/client-go"}},
	"internal/proof/netns":   {floor: beside, uses: []string{"context", "net", "os", "syscall"}},
}

// impure is the part of the standard library that floors 0 to 2 do without:
// they think and remember, they neither look at the world nor change it.
var impure = []string{"context", "log", "math/rand", "net", "os", "syscall"}

func TestEveryRoomImportsOnlyFromLowerFloors(t *testing.T) {
	lived := map[string]bool{}
	for file, imports := range importsOf(t, linked, "../internal", "../cmd") {
		name, here := roomOf(path.Dir(file))
		if name == "" {
			t.Errorf("%s is in no room: add its folder to the table in internal/floors_test.go, on the lowest floor that serves it", file)
			continue
		}
		lived[name] = true
		for _, imported := range imports {
			if why := here.forbids(name, imported); why != "" {
				t.Errorf("%s: room %s (%s) may not import %s: %s", file, name, here.on(), imported, why)
			}
		}
	}
	for name := range house {
		if !lived[name] {
			t.Errorf("room %s stands in the table and not in the tree: take it out of internal/floors_test.go", name)
		}
	}
}

// What is allowed and not used is a decision that nobody has taken.
func TestEveryModuleThatIsAllowedIsImported(t *testing.T) {
	used := map[string]bool{} // by room, and for outside by the empty name
	for file, imports := range importsOf(t, linked, "../internal", "../cmd") {
		name, here := roomOf(path.Dir(file))
		for _, imported := range imports {
			for _, allowed := range here.uses {
				if within(imported)(allowed) {
					used[name+" "+allowed], used[" "+allowed] = true, true
				}
			}
		}
	}
	for _, allowed := range outside {
		if !used[" "+allowed] {
			t.Errorf("no room imports %s: take it out of outside in internal/floors_test.go", allowed)
		}
	}
	for name, r := range house {
		for _, allowed := range r.uses {
			if !slices.Contains(outside, allowed) && !used[name+" "+allowed] {
				t.Errorf("room %s does not import %s: take it out of its row in internal/floors_test.go", name, allowed)
			}
		}
	}
}

// The suites judge lockstep from outside, so they share no rule with it.
func TestTheSuitesKnowNothingOfLockstep(t *testing.T) {
	seen := false
	for file, imports := range importsOf(t, everything, "../integration-tests") {
		for _, imported := range imports {
			own, inHouse := strings.CutPrefix(imported, module)
			switch {
			case !inHouse || within(own)("integration-tests"):
			case own == "internal/proof/netns":
				seen = true
			default:
				t.Errorf("%s may not import %s: of the house the suites know internal/proof/netns", file, imported)
			}
		}
	}
	if !seen {
		t.Error("no suite imports internal/proof/netns: was anything read?")
	}
}

func TestTheTableOfFloorsForbids(t *testing.T) {
	for name, tc := range map[string]struct {
		room, imported string
		want           bool
	}{
		"a room may import a lower floor":                   {"internal/act", module + "internal/plan", false},
		"a room may import its own parts":                   {"internal/act", module + "internal/act/wire", false},
		"a room may not import a higher floor":              {"internal/lock/hold", module + "internal/lock/lease", true},
		"rooms on one floor do not know each other":         {"internal/cluster/observe", module + "internal/act", true},
		"the roof sees only configuration and assembly":     {"cmd/lockstep", module + "internal/plan", true},
		"configuration is handed down, not fetched":         {"internal/serve/server", module + "internal/operator/config", true},
		"the operator does not link the simulation":         {"internal/operator", module + "internal/proof/sim", true},
		"the simulation sees floors 0 to 2":                 {"internal/proof/sim", module + "internal/lock/hold", false},
		"the simulation does not see the outside world":     {"internal/proof/sim", module + "internal/lock/lease", true},
		"the simulation does not read the configuration":    {"internal/proof/sim", module + "internal/operator/config", true},
		"the simulation draws lots":                         {"internal/proof/sim", "math/rand/v2", false},
		"the simulation never uses a client":                {"internal/proof/sim", "k8s.io/client-go/kubernetes", true},
		"the walk runs the webhooks as they are":            {"internal/proof/sim/walk", module + "internal/serve/admission", false},
		"the walk does not see who writes to the cluster":   {"internal/proof/sim/walk", module + "internal/act", true},
		"the operator does not link the walk":               {"internal/operator", module + "internal/proof/sim/walk", true},
		"thinking needs no cluster types":                   {"internal/plan", "k8s.io/api/apps/v1", true},
		"thinking needs time as a value":                    {"internal/plan", "time", false},
		"thinking does not read files":                      {"internal/plan", "os", true},
		"thinking does not log":                             {"internal/plan", "log/slog", true},
		"memory needs no context":                           {"internal/lock/hold", "context", true},
		"a module nobody decided on is refused":             {"internal/serve/server", "github.com/gorilla/mux", true},
		"a module's name is not the beginning of another's": {"internal/operator/config", "k8s.io/apimachinery2", true},
		"a folder that is in no room is not imported":       {"internal/operator", module + "internal/helpers", true},
	} {
		t.Run(name, func(t *testing.T) {
			why := house[tc.room].forbids(tc.room, tc.imported)
			if got := why != ""; got != tc.want {
				t.Errorf("%s imports %s: forbidden %t (%q), want %t", tc.room, tc.imported, got, why, tc.want)
			}
		})
	}
}

// forbids says why a room may not have this import; empty if it may.
func (r room) forbids(name, imported string) string {
	own, inHouse := strings.CutPrefix(imported, module)
	if !inHouse {
		return r.forbidsOutside(imported)
	}
	switch other, there := roomOf(own); {
	case other == name:
		return ""
	case other == "":
		return "it is in no room"
	case r.knows != nil && slices.Contains(r.knows, other):
		return ""
	case r.knows != nil:
		return "of the house it knows " + strings.Join(r.knows, ", ")
	case other == "internal/operator/config" && r.floor < 6:
		return "configuration is handed down by the operator, part by part"
	case r.floor == beside && there.floor <= 2:
		return ""
	case r.floor == beside:
		return "it is on " + there.on() + ", and what stands beside the house sees floors 0 to 2"
	case there.floor == beside:
		return "only tests may"
	case there.floor >= r.floor:
		return "it is on " + there.on() + ", and a room sees only lower floors"
	}
	return ""
}

// forbidsOutside is forbids for packages of the standard library and of other modules.
func (r room) forbidsOutside(imported string) string {
	domain, _, _ := strings.Cut(imported, "/")
	switch ofModule := strings.Contains(domain, "."); {
	case slices.ContainsFunc(r.uses, within(imported)):
		return ""
	case ofModule:
		return "this module is not among those the room may use"
	case r.floor <= 2 && slices.ContainsFunc(impure, within(imported)):
		return "floors 0 to 2 and what stands beside the house perform no I/O and take time and chance as input"
	}
	return ""
}

// on names the room's floor as the table of floors does.
func (r room) on() string {
	if r.floor == beside {
		return "beside the house"
	}
	return "floor " + strconv.Itoa(r.floor)
}

// roomOf finds the room that a folder of this module belongs to; an empty name
// if there is none.
func roomOf(folder string) (string, room) {
	for name := folder; name != "." && name != ""; name = path.Dir(name) {
		if r, ok := house[name]; ok {
			return name, r
		}
	}
	return "", room{}
}

// within answers, for one prefix after the other, whether the import lies below it.
func within(imported string) func(prefix string) bool {
	return func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/")
	}
}

// linked are the files that are linked into programs, which tests are not.
func linked(name string) bool { return !strings.HasSuffix(name, "_test.go") }

func everything(string) bool { return true }

// importsOf reads the imports of those Go files below the folders that concern
// the caller, by file name from the root of the module.
func importsOf(t *testing.T, concerns func(name string) bool, folders ...string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || !concerns(name) {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			file := strings.TrimPrefix(filepath.ToSlash(name), "../")
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
			t.Fatalf("read the house: %v", err)
		}
	}
	return all
}
