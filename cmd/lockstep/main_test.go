package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	for sentence, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr []string // the expected parts of the output; none: no output
	}{
		"help is no failure, and is written to stdout": {
			[]string{"-help"}, 0, []string{"Usage: lockstep [flags]", "-namespaces.selector", "-dry-run", "Exit codes: 0"}, nil,
		},
		"help in short":                     {[]string{"-h"}, 0, []string{"Usage: lockstep"}, nil},
		"help takes precedence over errors": {[]string{"-nonsense", "--help"}, 0, []string{"Usage: lockstep"}, nil},
		"the version":                       {[]string{"-version"}, 0, []string{"lockstep devel\n"}, nil},
		"the policy that fits the flags": {
			[]string{"-print-admission-policy", "-namespaces.selector=team=a", "-operator.namespace=ours"}, 0,
			[]string{"kind: ValidatingAdmissionPolicy\n", "kind: ValidatingAdmissionPolicyBinding\n", "team=a", "ours"}, nil,
		},
		"a policy where a Role is the limit": {
			[]string{"-print-admission-policy", "-kubernetes.namespace=team"}, 2, nil, []string{"-print-admission-policy: must not be set with -kubernetes.namespace"},
		},
		"a flag that does not exist": {[]string{"-server.prt=1"}, 2, nil, []string{"unknown flag -server.prt: did you mean -server.port?", "lockstep -help lists every flag."}},
		"a value that cannot be":     {[]string{"-server.port=70000"}, 2, nil, []string{`-server.port="70000"`}},
		"an unexpected argument":     {[]string{"run"}, 2, nil, []string{`unexpected argument "run"`}},
		"everything that is wrong, at once": {
			[]string{"-server.port=70000", "-workers=0", "-namespaces.selector=a=b=c"}, 2, nil,
			[]string{"-server.port=", "-workers=", "-namespaces.selector="},
		},
		"no cluster to be found": {[]string{"-server.port=0"}, 1, nil, []string{"lockstep starts", "lockstep: configure Kubernetes client: ", "missing"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(tc.args, &stdout, &stderr); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			says(t, "stdout", stdout.String(), tc.stdout)
			says(t, "stderr", stderr.String(), tc.stderr)
		})
	}
}

func says(t *testing.T, where, got string, want []string) {
	t.Helper()
	if len(want) == 0 && got != "" {
		t.Errorf("%s prints %q, want no output", where, got)
	}
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%s does not say %q:\n%s", where, part, got)
		}
	}
}

func TestVariablesCountToo(t *testing.T) {
	t.Setenv("LOCKSTEP_SERVER_PORT", "many")
	var stdout, stderr bytes.Buffer
	if code := run(nil, &stdout, &stderr); code != exitUnusable || !strings.Contains(stderr.String(), "LOCKSTEP_SERVER_PORT") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
