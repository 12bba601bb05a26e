package pool_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// start is the time of every scenario.
var start = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

// objectUID is the UID of the StatefulCluster of every scenario.
const objectUID = "pool-uid"

// scenario is a situation as text, with the expected plan.
//
//	# Every pod that is missing is born at once.      the guarantee
//	pool web replicas=2 claims=data,logs minready=5s  the object
//	live                                              read live
//	at pods=20 claims=20                              the versions of the lists
//	hold statefulcluster/web own                      the hold, of this process
//	intent a@10 ScaledDown                            a recorded deletion, at a version
//	pod a ready claims=data,logs                      a pod, with its claims
//	claim b/data retired                              a claim without a pod
//	then                                              the plan and the hold
type scenario struct {
	promise  string
	snapshot pool.Snapshot
	then     string
}

func parse(text string) (scenario, error) {
	given, then, _ := strings.Cut(text, "\nthen\n")
	s := scenario{then: then, snapshot: pool.Snapshot{Now: start, ObjectsAt: 100, PodsAt: 100, ClaimsAt: 100, Draw: drawn()}}
	for n, line := range strings.Split(given, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case n == 0:
			s.promise = strings.TrimPrefix(line, "# ")
		case words[fields[0]] == nil:
			return s, fmt.Errorf("line %d: unknown word %q", n+1, fields[0])
		default:
			if err := words[fields[0]](&s.snapshot, fields[1:]); err != nil {
				return s, fmt.Errorf("line %d: %w", n+1, err)
			}
		}
	}
	return s, nil
}

// drawn draws identities in order, so that plans repeat.
func drawn() func() pool.ID {
	n := 0
	return func() pool.ID {
		n++
		return pool.ID(fmt.Sprintf("new%d", n))
	}
}

// words are the first words of lines.
var words = map[string]func(*pool.Snapshot, []string) error{
	"pool": func(s *pool.Snapshot, fields []string) error {
		s.Key = plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: fields[0]}
		s.Object = pool.Object{UID: objectUID, Version: 5, Revision: "2", Replicas: 1}
		return each(fields[1:], map[string]func(string) error{
			"replicas": number(&s.Object.Replicas),
			"claims": func(v string) error {
				for name := range strings.SplitSeq(v, ",") {
					s.Object.ClaimTemplates = append(s.Object.ClaimTemplates, pool.ClaimTemplate{Name: name})
				}
				return nil
			},
			"minready": func(v string) (err error) { s.Object.MinReady, err = time.ParseDuration(v); return err },
			"deleting": func(string) error { s.Object.Deleting = true; return nil },
		})
	},
	"live": func(s *pool.Snapshot, _ []string) error { s.Live = true; return nil },
	"at": func(s *pool.Snapshot, fields []string) error {
		return each(fields, map[string]func(string) error{"pods": version(&s.PodsAt), "claims": version(&s.ClaimsAt)})
	},
	"hold": func(s *pool.Snapshot, fields []string) error {
		s.Hold.Exists, s.Hold.Holder, s.Hold.Renewed, s.Hold.Duration = true, plan.Holder(fields[0]), start, hold.Duration
		return each(fields[1:], map[string]func(string) error{
			"own":        func(string) error { s.Hold.Own = true; return nil },
			"unreadable": func(string) error { s.Hold.Unreadable = "damaged"; return nil },
			"expired":    func(string) error { s.Hold.Renewed = start.Add(-2 * hold.Duration); return nil },
		})
	},
	"intent": func(s *pool.Snapshot, fields []string) error {
		id, at, _ := strings.Cut(fields[0], "@")
		i := plan.Intent{Zone: s.Key.Name, Pod: pool.PodName(s.Key.Name, pool.ID(id)), UID: id, Cause: reason.Code(fields[1]), Since: start}
		s.Hold.Intents = append(s.Hold.Intents, i)
		return version(&s.Hold.Intents[len(s.Hold.Intents)-1].Version)(at)
	},
	"pod": readPod,
	"claim": func(s *pool.Snapshot, fields []string) error {
		id, template, _ := strings.Cut(fields[0], "/")
		c := claim(s, pool.ID(id), template)
		err := each(fields[1:], map[string]func(string) error{
			"retired":  func(string) error { c.Retired = true; return nil },
			"deleting": func(string) error { c.Deleting = true; return nil },
			"of":       func(v string) error { c.Pool = v; return nil },
		})
		s.Claims = append(s.Claims, c)
		return err
	},
}

func claim(s *pool.Snapshot, id pool.ID, template string) pool.Claim {
	name := pool.ClaimName(s.Key.Name, template, id)
	return pool.Claim{Name: name, UID: name, Version: 8, ID: id, Template: template, Pool: s.Object.UID}
}

func readPod(s *pool.Snapshot, fields []string) error {
	id := pool.ID(fields[0])
	p := pool.Pod{ID: id, Owner: s.Object.UID, Scheduled: true, Pod: plan.Pod{
		Name: pool.PodName(s.Key.Name, id), UID: string(id), Version: 10, Revision: "2", ReadySince: start.Add(-time.Hour), Created: plan.UnixTimeOf(start.Add(-2 * time.Hour)),
	}}
	err := each(fields[1:], map[string]func(string) error{
		"ready":       func(string) error { p.Phase = plan.Ready; return nil },
		"starting":    func(string) error { p.Phase = plan.Starting; return nil },
		"failing":     func(string) error { p.Phase, p.Why = plan.Failing, "CrashLoopBackOff"; return nil },
		"terminating": func(string) error { p.Phase = plan.Terminating; return nil },
		"finished":    func(string) error { p.Phase, p.Finished = plan.Starting, true; return nil },
		"pending":     func(string) error { p.Scheduled = false; return nil },
		"gated":       func(string) error { p.Scheduled, p.Gated = false, true; return nil },
		"cost":        number(&p.Cost),
		"restarts":    number(&p.Restarts),
		"rev":         func(v string) error { p.Revision = v; return nil },
		"uid":         func(v string) error { p.UID = v; return nil },
		"owner":       func(v string) error { p.Owner = v; return nil },
		"version":     version(&p.Version),
		"for": func(v string) error {
			d, err := time.ParseDuration(v)
			p.ReadySince = start.Add(-d)
			return err
		},
		"claims": func(v string) error {
			for template := range strings.SplitSeq(v, ",") {
				s.Claims = append(s.Claims, claim(s, id, template))
			}
			return nil
		},
	})
	s.Pods = append(s.Pods, p)
	return err
}

// each reads options: replicas=2, or a word alone.
func each(fields []string, known map[string]func(string) error) error {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		if known[name] == nil {
			return fmt.Errorf("unknown option %q", name)
		}
		if err := known[name](value); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

func number(to *int) func(string) error {
	return func(v string) (err error) { *to, err = strconv.Atoi(v); return err }
}

func version(to *plan.Version) func(string) error {
	return func(v string) error {
		parsed, is := plan.ParseVersion(v)
		if !is {
			return fmt.Errorf("%q is no version", v)
		}
		*to = parsed
		return nil
	}
}

// outcome returns the plan of a snapshot, and what the hold needs for it.
func outcome(s pool.Snapshot) string {
	steps := pool.Plan(s)
	lines := []string{}
	for _, step := range steps {
		lines = append(lines, "  "+step.String())
	}
	if len(steps) == 0 {
		lines = append(lines, "  nothing")
	}
	d := hold.Decide(&s, steps)
	if d.Need == hold.ReadLive {
		s.Live = true
		lines = append(lines, "  hold: read live")
		d = hold.Decide(&s, pool.Plan(s))
	}
	switch d.Need {
	case hold.Write:
		var pods []string
		for _, i := range d.Record.Intents {
			pods = append(pods, i.Pod)
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  hold: write %s %s", orFree(d.Record.Holder), strings.Join(pods, " ")), " "))
	case hold.Remove:
		lines = append(lines, "  hold: remove")
	case hold.Carry, hold.ReadLive, hold.Label:
	}
	return strings.Join(lines, "\n") + "\n"
}

func orFree(h plan.Holder) string {
	if h.Free() {
		return "free"
	}
	return string(h)
}
