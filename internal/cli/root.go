package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2" //nolint:depguard // only to silence it

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitWaits  = 2 // something waits, or another holder has the group
)

// errWaits is the result of a command that found a wait. It causes exit code 2.
var errWaits = errors.New("something waits")

// Streams are the input and outputs of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app is one invocation of the command line.
type app struct {
	streams Streams
	style   screen.Style
	measure func() screen.Style // returns the current style after the screen was resized; nil: the style is fixed
	version string
	now     func() time.Time
	flags   connection
	dial    func(clientcmd.ClientConfig) (*rest.Config, error)
	form    string
}

// Run executes a command line and returns the exit code.
func Run(ctx context.Context, args []string, streams Streams, version string) int {
	klog.LogToStderr(false) // libraries would print server messages without escaping
	klog.SetOutput(io.Discard)
	measure := func() screen.Style { return screen.StyleOf(streams.Out, os.Getenv) }
	a := &app{streams: streams, style: measure(), measure: measure, version: version, now: time.Now, dial: clientcmd.ClientConfig.ClientConfig}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.Is(err, errWaits):
		return exitWaits
	default:
		for line := range strings.Lines("error: " + err.Error()) {
			fmt.Fprintln(a.streams.Err, screen.Clean(strings.TrimSuffix(line, "\n")))
		}
		return exitFailed
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-lockstep",
		Short: "Show and control rollouts of groups of StatefulSets, and StatefulClusters",
		Long: `Show and control rollouts of groups of StatefulSets. lockstep rolls out zone by zone. Show and
control StatefulClusters, which most commands accept as statefulcluster/NAME or stc/NAME.

A group is all StatefulSets of a namespace with the same value of the label rollout-group
or, if it is set, of the annotation lockstep.dev/rollout-group. Each of them is a zone. The
commands use the operator's own planner on the current state of the cluster.

Exit codes: 0 success; 1 an error; 2 from why: something waits, or an eviction would be
refused; 2 from hold: another holder has the group; 2 from pause and resume: a zone keeps
another pause; 2 from replace: the pod must not be deleted yet.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lockstep"},
		Version:           a.version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetIn(a.streams.In)
	root.SetOut(a.streams.Out)
	root.SetErr(a.streams.Err)
	a.flags.add(root.PersistentFlags())
	root.AddCommand(a.status(), a.why(), a.plan(), a.explain(), a.pause(), a.resume(), a.restart(), a.hold(), a.release(), a.snapshot(), a.history(), a.replace(), a.claims(), a.convert())
	return root
}

// answers adds the flag -o to a command.
func (a *app) answers(command *cobra.Command) *cobra.Command {
	command.Flags().StringVarP(&a.form, "output", "o", "", "json or yaml; the default is a table")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formJSON, formYAML}, cobra.ShellCompDirectiveNoFileComp))
	run := command.RunE
	command.RunE = func(c *cobra.Command, args []string) error {
		if err := checkForm(a.form); err != nil {
			return err
		}
		return run(c, args)
	}
	return command
}

func (a *app) connect() (*cluster, error) {
	flags := a.flags.config()
	config, err := a.dial(flags)
	if err != nil {
		return nil, fmt.Errorf("configure Kubernetes client: %w", err)
	}
	namespace, _, err := flags.Namespace()
	if err != nil {
		return nil, fmt.Errorf("configure Kubernetes client: %w", err)
	}
	c, err := connect(config, namespace, a.version, a.warn)
	if err == nil {
		a.now = c.date
	}
	return c, err
}

func (a *app) warn(text string) { fmt.Fprintln(a.streams.Err, "warning: "+screen.Clean(text)) }

func (a *app) page() *screen.Page { return &screen.Page{Style: a.style} }

func (a *app) print(p *screen.Page) error { return a.write(p.String()) }

// answer prints an answer in the format of the flag -o.
func (a *app) answer(answer any) error {
	text, err := encoded(a.form, answer)
	if err != nil {
		return err
	}
	return a.write(text)
}

func (a *app) write(text string) error {
	if _, err := io.WriteString(a.streams.Out, text); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// one requires exactly one argument. what describes the accepted arguments.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("accepted: %s; %s -h has examples", what, c.CommandPath())
		}
		return nil
	}
}

// oneOrNone requires at most one argument.
func oneOrNone(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("accepted: %s; %s -h has examples", what, c.CommandPath())
		}
		return nil
	}
}
