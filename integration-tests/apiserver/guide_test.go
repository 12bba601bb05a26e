package apiserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// migrationGuide is a page whose commands the tests run.
const migrationGuide = repository + "/docs/migrate.md"

// guided returns the first block of a language below a heading of the guide.
func guided(t *testing.T, heading, language string) string {
	t.Helper()
	return blocks(t, migrationGuide, heading, language)[0]
}

// blocks returns the blocks of a language below a heading of a page. There is at least one.
func blocks(t *testing.T, file, heading, language string) []string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for _, rest := range strings.Split(section, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "\n```")
		all = append(all, block)
	}
	if !found || len(all) == 0 {
		t.Fatalf("%s has no block of %s below %q", file, language, heading)
	}
	return all
}

// shell runs the commands of an administrator, with kubectl and its plugin in the path.
type shell struct {
	*scene
	folder string
}

func (s *scene) shell() shell {
	s.t.Helper()
	h := shell{s, s.t.TempDir()}
	kubectl, err := localcluster.Program(s.t.Context(), "kubectl", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	plugin, err := thePlugin()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, program := range map[string]string{"kubectl": kubectl, "kubectl-lockstep": plugin} {
		if err := os.Symlink(program, filepath.Join(h.folder, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	return h
}

// types runs commands of the guide for the scene's namespace and the default group, and returns
// their output. All of them must succeed.
func (h shell) types(commands string) string {
	h.t.Helper()
	out, err := h.run("-eux", commands)
	if err != nil {
		h.t.Fatalf("%s\n%s\n%v", commands, out, err)
	}
	return out
}

// tries runs commands like an interactive shell, which continues after a failure unless the
// commands stop it.
func (h shell) tries(commands string) (string, error) {
	h.t.Helper()
	return h.run("-ux", commands)
}

func (h shell) run(options, commands string) (string, error) {
	h.t.Helper()
	commands = strings.NewReplacer("mimir", h.name, " ingester ", " "+defaultGroup+" ").Replace(commands)
	command := exec.CommandContext(h.t.Context(), "sh", options, "-c", commands)
	command.Dir = h.folder
	command.Env = []string{"PATH=" + h.folder + ":" + os.Getenv("PATH"), "HOME=" + h.folder, "KUBECONFIG=" + h.world.cluster.AdminKubeconfig()}
	began := time.Now()
	out, err := command.CombinedOutput()
	h.t.Logf("%s\n%s%s", commands, out, time.Since(began).Round(time.Millisecond))
	return string(out), err
}
