package house_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// never describes calls and imports that an area must not contain.
type never struct {
	sentence string // what the area never has, in the words of docs/architecture.md
	imports  []string
	calls    func(name string) bool
	except   map[string]string // rooms that are exempt, and why
}

var nevers = map[string]never{
	"api":      {sentence: "a client", imports: []string{"k8s.io/client-go"}},
	"plan":     {sentence: "an object of the API, a client, a clock", imports: []string{"k8s.io"}, calls: readsClock},
	"contract": {sentence: "an object of the API, a client, a clock", imports: []string{"k8s.io"}, calls: readsClock},
	"render":   {sentence: "an object of the API, a client, a clock", imports: []string{"k8s.io"}, calls: readsClock},
	"lock": {sentence: "a clock", calls: readsClock, except: map[string]string{
		"lock/lease": "it dates what this process has seen",
	}},
	"show": {sentence: "a client of the API server", imports: []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/metadata"}},
	"cluster": {sentence: "a write to the API server", calls: writes, except: map[string]string{
		"cluster/access": "it creates reviews of permissions, which are not stored",
	}},
	"act":      {sentence: "a decision", calls: decides},
	"control":  {sentence: "a write to a pod or a workload", calls: writesWorkloads},
	"serve":    {sentence: "a write to a pod or a workload", calls: writesWorkloads},
	"cli":      {sentence: "the deletion of a pod", calls: deletesPods},
	"operator": {sentence: "a decision", calls: decides},
	"proof": {sentence: "a clock", calls: readsClock, except: map[string]string{
		"proof/sim/walk": "it reads the clock of a test's bubble",
	}},
}

func TestNoAreaUsesItsForbiddenCalls(t *testing.T) {
	excepted := map[string]bool{}
	for file, imports := range importsOf(t, linked, "internal") {
		for _, imported := range imports {
			if slices.ContainsFunc(nevers[areaOf(roomOf(file))].imports, within(imported)) {
				t.Errorf("%s imports %s: %s never has %s", file, imported, areaOf(roomOf(file)), nevers[areaOf(roomOf(file))].sentence)
			}
		}
	}
	for _, folder := range foldersOf(t) {
		from := strings.TrimPrefix(folder, "internal/")
		rule := nevers[areaOf(from)]
		if rule.calls == nil {
			continue
		}
		for name, where := range callsOf(t, folder) {
			switch {
			case !rule.calls(name):
			case rule.except[from] != "":
				excepted[from] = true
			default:
				t.Errorf("%s of %s calls %s: %s never has %s", where, from, name, areaOf(from), rule.sentence)
			}
		}
	}
	for name, rule := range nevers {
		for from := range rule.except {
			if !excepted[from] {
				t.Errorf("%s needs no exception from what %s never has", from, name)
			}
		}
	}
}

// All guarantees depend on one package through which pods are deleted.
func TestOnePackageDeletesPods(t *testing.T) {
	var rooms []string
	for _, folder := range foldersOf(t) {
		for name := range callsOf(t, folder) {
			if deletesPods(name) {
				rooms = append(rooms, folder)
			}
		}
	}
	if !slices.Equal(rooms, []string{"internal/act"}) {
		t.Errorf("pods are deleted or evicted in %q, want internal/act alone", rooms)
	}
}

// foldersOf returns the folders below internal that contain a package, except this one.
func foldersOf(t *testing.T) []string {
	t.Helper()
	var folders []string
	for name := range compiled(t) {
		if folder, inModule := strings.CutPrefix(name, module); inModule && folder != "internal/proof/house" {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders
}

// readsClock reports whether a function reads the time or waits.
func readsClock(name string) bool {
	return regexp.MustCompile(`^time\.(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)$`).MatchString(name)
}

var (
	write        = regexp.MustCompile(`^k8s\.io/client-go/(kubernetes|dynamic|metadata)\b.*\.(Create|Update|UpdateStatus|Patch|Delete|DeleteCollection|Apply|ApplyStatus|Evict|EvictV1|UpdateScale|ApplyScale)$`)
	ofWorkload   = regexp.MustCompile(`/typed/(apps|policy)/|/typed/core/v1\.PodInterface\.`)
	podDelete    = regexp.MustCompile(`(PodInterface|EvictionInterface|PodExpansion|EvictionExpansion)\.(Delete|DeleteCollection|Evict|EvictV1)$`)
	ofTheDecider = regexp.MustCompile(`^internal/(plan/pool\.Plan|plan/group\.(Plan|Admit|StillAdmits|Evict|OutlookOf|Outlook\.Evict|Part\.UndoAgain)|lock/hold\.(Decide|DecideGrant|Admit|Resume))$`)
)

// writes reports whether a function changes objects that the API server stores.
func writes(name string) bool { return write.MatchString(name) }

func writesWorkloads(name string) bool { return writes(name) && ofWorkload.MatchString(name) }

func deletesPods(name string) bool { return podDelete.MatchString(name) }

// decides reports whether a function makes a decision about a group.
func decides(name string) bool { return ofTheDecider.MatchString(name) }

// The rules about calls must be able to fail: each of them matches calls of an area that
// may make them.
func TestForbiddenCallsAreFoundElsewhere(t *testing.T) {
	for folder, finds := range map[string]func(string) bool{
		"internal/lock/lease":     readsClock,
		"internal/control/groups": decides,
		"internal/act":            func(name string) bool { return deletesPods(name) && writesWorkloads(name) && writes(name) },
	} {
		found := false
		for name := range callsOf(t, folder) {
			found = found || finds(name)
		}
		if !found {
			t.Errorf("no such call is found in %s", folder)
		}
	}
}

// The page shows the same table to readers.
func TestTheArchitecturePageShowsTheAreas(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| \\[?`(\\w+)`[^|]*\\|[^|]*\\|([^|]*)\\|([^|]*)\\|$")
	shown := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(read(t, root+"docs/architecture.md"), -1) {
		name, knows, sentence := match[1], strings.TrimSpace(match[2]), strings.TrimSpace(match[3])
		a, exists := areas[name]
		if !exists {
			continue
		}
		shown[name] = true
		if want := shownAs(a.knows); knows != want {
			t.Errorf("docs/architecture.md says that %s knows %s, want %s", name, knows, want)
		}
		if sentence != nevers[name].sentence {
			t.Errorf("docs/architecture.md says that %s never has %s, want %s", name, sentence, nevers[name].sentence)
		}
	}
	for name := range areas {
		if !shown[name] {
			t.Errorf("docs/architecture.md has no row of %s", name)
		}
	}
}

// shownAs returns names as a cell of the page shows them.
func shownAs(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func TestTheArchitecturePageShowsTheRooms(t *testing.T) {
	page := read(t, root+"docs/architecture.md")
	for _, folder := range foldersOf(t) {
		from := strings.TrimPrefix(folder, "internal/")
		_, isArea := areas[from]
		partOfRoom := strings.Count(from, "/") > 1 || areaOf(from) == "api" || from == "cli/screen"
		if !isArea && !partOfRoom && !strings.Contains(page, "`"+from+"`") {
			t.Errorf("docs/architecture.md does not say what lives in %s", from)
		}
	}
}
