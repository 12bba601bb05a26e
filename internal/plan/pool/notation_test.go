package pool_test

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
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
//	pool web replicas=2 claims=data,logs minready=5s  the object; its template has the hash 2
//	revision 1 number=1                               a revision with the hash 1; without any, only 2 exists
//	current 1                                         the revision before the newest one, as the status says
//	norevisions                                       no revision exists
//	change 1 inplace images=db:2                      how the pods of a revision differ from those of the template
//	refused until=5m                                  the API server refuses a pod of the template
//	live                                              read live
//	at pods=20 claims=20                              the versions of the lists
//	hold statefulcluster/web own                      the hold, of this process
//	recorded 5                                        how many pods were asked for; without it, as many as today where it matters
//	intent a@10 ScaledDown                            a recorded deletion, at a version
//	waiting eviction since=1m seen=5s                 a client waits to evict a pod, or the next update of a pod
//	pod a ready claims=data,logs                      a pod, with its claims
//	stray copy id=a                                   a pod without an owner that has the label of an identity
//	claim b/data retired                              a claim without a pod
//	notgrown a/data to=2 until=30s                    more storage that the API server has refused for a claim
//	volumes a unreachable ago=5s                      a look at the volumes of a pod without a node
//	service generation=2 missing ago=5s               a look at the Service, when the object had that generation
//	taken a                                           an identity of which another owner has a claim
//	looked ago=3s                                     when orphans were looked for
//	orphan web-0 of=StatefulSet/web                   a pod that matches the selector and is not one of the pool
//	unlabelled data-web-0 of=StatefulSet/web          a claim without the labels of an identity
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
	if s.snapshot.Revisions == nil {
		s.snapshot.Revisions = []pool.Revision{{Name: "2", Hash: "2", Number: 1, Templates: s.snapshot.Object.Templates}}
	}
	if o := &s.snapshot.Object; !strings.Contains(given, "\nrecorded ") && (o.Claim.DeleteWhenScaled || o.Strategy.MaxSurge != pool.Share{}) {
		s.snapshot.Part = pool.Part{Replicas: o.Replicas, Recorded: true}
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
		s.Object = pool.Object{UID: objectUID, Version: 5, Hash: "2", Replicas: 1, RevisionHistory: 10, HandoverTimeout: 10 * time.Minute}
		s.Object.Liveness = pool.Liveness{NodeLost: 5 * time.Minute, Startup: 10 * time.Minute, CrashLoop: time.Hour, MaxUnhealthy: pool.Share{Percent: 40}}
		s.Object.Strategy = pool.Strategy{MaxUnavailable: pool.Share{Pods: 1}, Policy: pool.InPlaceIfPossible}
		return each(fields[1:], map[string]func(string) error{
			"replicas": number(&s.Object.Replicas),
			"claims": func(v string) error {
				for name := range strings.SplitSeq(v, ",") {
					s.Object.Claims = append(s.Object.Claims, pool.ClaimTemplate{Name: name})
				}
				return nil
			},
			"storage": func(v string) error { // of each claim template, in bytes
				for i := range s.Object.Claims {
					if err := storage(&s.Object.Claims[i].Storage)(v); err != nil {
						return err
					}
				}
				return nil
			},
			"service":    func(v string) error { s.Object.Service, s.Object.Generation = v, 2; return nil },
			"minready":   func(v string) (err error) { s.Object.MinReady, err = time.ParseDuration(v); return err },
			"lost":       func(v string) (err error) { s.Lost, err = strconv.Atoi(v); return err },
			"unreadable": func(string) error { s.Object.Unreadable = "no number"; return nil },
			"deleting":   func(string) error { s.Object.Deleting = true; return nil },
			"adopt":      func(string) error { s.Object.Adopt = true; return nil },
			"awaitends":  func(string) error { s.Object.AwaitEnds = true; return nil },
			"ordered":    func(string) error { s.Object.Ordered = true; return nil },
			"paused":     func(string) error { s.Object.Paused = true; return nil },
			"until": func(v string) error { // when the pause ends
				d, err := time.ParseDuration(v)
				s.Object.PausedUntil.Time = start.Add(d)
				return err
			},
			"noeffect":    func(v string) error { s.Object.WithoutEffect = v; return nil },
			"nountil":     func(v string) error { s.Object.PausedUntil.Invalid = v; return nil },
			"keepdeleted": func(string) error { s.Object.Keep.OnDelete = true; return nil },
			"keepevicted": func(string) error { s.Object.Keep.OnEviction = true; return nil },
			"ondelete":    func(string) error { s.Object.Strategy.OnDelete = true; return nil },
			"policy": func(v string) error {
				s.Object.Strategy.Policy = pool.PodUpdatePolicy(v)
				return nil
			},
			"grace":        duration(&s.Object.Strategy.Grace),
			"timeout":      duration(&s.Object.HandoverTimeout),
			"deadline":     duration(&s.Object.Deadline),
			"startup":      duration(&s.Object.Liveness.Startup),
			"nodelost":     duration(&s.Object.Liveness.NodeLost),
			"notready":     duration(&s.Object.Liveness.NotReady),
			"crashloop":    duration(&s.Object.Liveness.CrashLoop),
			"whendeleted":  func(string) error { s.Object.Claim.DeleteWithObject = true; return nil },
			"whenscaled":   func(string) error { s.Object.Claim.DeleteWhenScaled = true; return nil },
			"whenreplaced": func(string) error { s.Object.Claim.DeleteWhenReplaced = true; return nil },
			"ttl":          duration(&s.Object.Claim.DeleteAfter),
			"limit": func(v string) error {
				s.Object.Claim.Limit = new(0)
				return number(s.Object.Claim.Limit)(v)
			},
			"partition": share(&s.Object.Strategy.Partition),
			"max":       share(&s.Object.Strategy.MaxUnavailable),
			"surge":     share(&s.Object.Strategy.MaxSurge),
			"scalemax":  share(&s.Object.ScaleMaxUnavailable),
			"history":   number(&s.Object.RevisionHistory),
			"hash":      func(v string) error { s.Object.Hash = v; return nil },
		})
	},
	"revision": func(s *pool.Snapshot, fields []string) error {
		r := pool.Revision{Name: fields[0], Hash: fields[0], Number: int64(len(s.Revisions) + 1)}
		err := each(fields[1:], map[string]func(string) error{
			"hash":   func(v string) error { r.Hash = v; return nil },
			"number": func(v string) (err error) { r.Number, err = strconv.ParseInt(v, 10, 64); return err },
			"claims": func(v string) error {
				for name := range strings.SplitSeq(v, ",") {
					r.Claims = append(r.Claims, pool.ClaimTemplate{Name: name})
				}
				return nil
			},
		})
		s.Revisions = append(s.Revisions, r)
		return err
	},
	"current":     func(s *pool.Snapshot, fields []string) error { s.Object.Current = fields[0]; return nil },
	"norevisions": func(s *pool.Snapshot, _ []string) error { s.Revisions = []pool.Revision{}; return nil },
	"change": func(s *pool.Snapshot, fields []string) error {
		c := pool.Change{From: map[string]string{}, Images: map[string]string{}}
		err := each(fields[1:], map[string]func(string) error{
			"equal":   func(string) error { c.Equal = true; return nil },
			"inplace": func(string) error { c.InPlace = true; return nil },
			"from":    images(c.From),
			"images":  images(c.Images),
			"cpu": func(v string) error { // of the container db
				c.Resources = map[string]pool.Resources{"db": {CPURequest: v}}
				return nil
			},
		})
		if s.Changes == nil {
			s.Changes = map[string]pool.Change{}
		}
		s.Changes[fields[0]] = c
		return err
	},
	"refused": func(s *pool.Snapshot, fields []string) error {
		s.Refused = plan.Refusal{Code: reason.TemplateInvalid, Detail: "no such field"}
		return each(fields, map[string]func(string) error{"until": func(v string) error {
			d, err := time.ParseDuration(v)
			s.Refused.Until = start.Add(d)
			return err
		}})
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
	"recorded": func(s *pool.Snapshot, fields []string) error {
		s.Part.Recorded = true
		return number(&s.Part.Replicas)(fields[0])
	},
	"intent": func(s *pool.Snapshot, fields []string) error {
		id, at, _ := strings.Cut(fields[0], "@")
		i := plan.Intent{Zone: s.Key.Name, Pod: pool.PodName(s.Key.Name, pool.ID(id)), UID: id, Cause: reason.Code(fields[1]), Since: start}
		err := each(fields[2:], map[string]func(string) error{
			"ago": func(v string) error {
				d, err := time.ParseDuration(v)
				i.Since = start.Add(-d)
				return err
			},
			"known":   duration(&i.Known),
			"uid":     func(v string) error { i.UID = v; return nil },
			"from":    func(v string) error { i.From = v; return nil },
			"unbound": func(string) error { i.Unbound = true; return nil },
		})
		s.Hold.Intents = append(s.Hold.Intents, i)
		return errors.Join(err, version(&s.Hold.Intents[len(s.Hold.Intents)-1].Version)(at))
	},
	"waiting": func(s *pool.Snapshot, fields []string) error {
		operation, id, ofPod := strings.Cut(fields[0], "/")
		w := plan.Waiting{Operation: plan.Operation(operation), Zone: s.Key.Name, Since: start.Add(-time.Minute)}
		if ofPod {
			w.Zone = pool.PodName(s.Key.Name, pool.ID(id))
		}
		err := each(fields[1:], map[string]func(string) error{"since": ago(&w.Since), "seen": ago(&w.LastSeen)})
		s.Hold.Waiting = append(s.Hold.Waiting, w)
		return err
	},
	"pod": readPod,
	"notgrown": func(s *pool.Snapshot, fields []string) error { // notgrown a/data to=2 until=30s
		id, template, _ := strings.Cut(fields[0], "/")
		r := pool.RefusedGrowth{Claim: pool.ClaimName(s.Key.Name, template, pool.ID(id)), Because: plan.Refusal{Code: reason.ExpansionRefused, Detail: "class"}}
		err := each(fields[1:], map[string]func(string) error{"to": storage(&r.To), "until": func(v string) error {
			d, err := time.ParseDuration(v)
			r.Because.Until = start.Add(d)
			return err
		}})
		s.RefusedGrowths = append(s.RefusedGrowths, r)
		return err
	},
	"volumes": func(s *pool.Snapshot, fields []string) error { // volumes a unreachable ago=5s
		look := pool.VolumeLook{At: start, Since: start.Add(-time.Hour)}
		err := each(fields[1:], map[string]func(string) error{
			"unreachable": func(string) error { look.Unreachable = true; return nil },
			"waits":       func(v string) error { look.Waits = v; return nil },
			"ago":         ago(&look.At),
			"since":       ago(&look.Since),
		})
		if s.Volumes == nil {
			s.Volumes = map[string]pool.VolumeLook{}
		}
		s.Volumes[fields[0]] = look
		return err
	},
	"service": func(s *pool.Snapshot, fields []string) error { // service generation=2 missing
		return each(fields, map[string]func(string) error{
			"generation": func(v string) (err error) { s.Service.Generation, err = strconv.ParseInt(v, 10, 64); return err },
			"missing":    func(string) error { s.Service.Missing = "it does not exist"; return nil },
			"ago":        ago(&s.Service.At),
		})
	},
	"taken": func(s *pool.Snapshot, fields []string) error {
		s.Taken = map[pool.ID]bool{pool.ID(fields[0]): true}
		return nil
	},
	"looked": func(s *pool.Snapshot, fields []string) error {
		return each(fields, map[string]func(string) error{"ago": ago(&s.Orphans.At)})
	},
	"orphan": func(s *pool.Snapshot, fields []string) error {
		o := pool.Orphan{Name: fields[0], UID: fields[0], Version: 9}
		err := each(fields[1:], map[string]func(string) error{
			"of":       func(v string) error { o.Controller = v; return nil },
			"labelled": func(string) error { o.Labelled = true; return nil },
		})
		s.Orphans.Pods = append(s.Orphans.Pods, o)
		return err
	},
	"unlabelled": func(s *pool.Snapshot, fields []string) error {
		template, _, _ := strings.Cut(fields[0], "-")
		c := pool.UnlabelledClaim{Name: fields[0], Template: template, UID: fields[0], Version: 9}
		err := each(fields[1:], map[string]func(string) error{
			"of":       func(v string) error { c.Owner = v; return nil },
			"template": func(v string) error { c.Template = v; return nil },
		})
		s.Unlabelled = append(s.Unlabelled, c)
		return err
	},
	"stray": func(s *pool.Snapshot, fields []string) error { // a pod without an owner that has the label of an identity
		p := pool.Pod{Pod: plan.Pod{Name: fields[0], UID: fields[0], Version: 10, Phase: plan.Ready}}
		err := each(fields[1:], map[string]func(string) error{"id": func(v string) error { p.ID = pool.ID(v); return nil }})
		s.Pods = append(s.Pods, p)
		return err
	},
	"claim": func(s *pool.Snapshot, fields []string) error {
		id, template, _ := strings.Cut(fields[0], "/")
		c := claim(s, pool.ID(id), template)
		err := each(fields[1:], map[string]func(string) error{
			"retired": func(string) error {
				c.Retired, c.Ended, c.Because = true, start.Add(-time.Minute), reason.IdentityLost
				return nil
			},
			"unreadable": func(string) error { c.Ended = time.Time{}; return nil },
			"owned":      func(string) error { c.Owned = true; return nil },
			"from":       func(v string) error { c.From = v; return nil },
			"retain":     func(string) error { c.Retain = true; return nil },
			"keep":       func(string) error { c.Keep = true; return nil },
			"because":    func(v string) error { c.Because = reason.Code(v); return nil },
			"ago":        ago(&c.Ended),
			"deleting":   func(string) error { c.Deleting = true; return nil },
			"of":         func(v string) error { c.Pool = v; return nil },
			"storage":    storage(&c.Storage),
			"siblings":   func(v string) error { c.Siblings = strings.Split(v, ","); return nil },
			"version":    version(&c.Version),
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
		"unpullable":  func(string) error { p.Phase, p.Why = plan.Failing, "ImagePullBackOff"; return nil },
		"terminating": func(string) error { p.Phase = plan.Terminating; return nil },
		"finished":    func(string) error { p.Phase, p.Finished = plan.Starting, true; return nil },
		"pending":     func(string) error { p.Scheduled = false; return nil },
		"retain":      func(string) error { p.Retain = true; return nil },
		"disrupted":   func(string) error { p.Disrupted = true; return nil },
		"ran":         func(string) error { p.Ran = true; return nil },
		"ended": func(v string) error {
			d, err := time.ParseDuration(v)
			p.Ended = plan.UnixTimeOf(start.Add(-d))
			return err
		},
		"asked":     func(string) error { p.Asked = true; return nil },
		"gated":     func(string) error { p.Scheduled, p.Gated = false, true; return nil },
		"successor": func(string) error { p.From = string(id); return nil },
		"image": func(v string) error {
			p.Containers = append(p.Containers, pool.Container{Name: "db", Image: v, ID: "first", Running: true})
			return nil
		},
		"updated": func(v string) error { // updated=10: in place, at that version, and not yet restarted
			p.Update = pool.InPlaceUpdate{Revision: p.Revision, Restarts: map[string]string{"db": "first"}}
			return version(&p.Update.At)(v)
		},
		"cpu": func(v string) error { p.Containers[0].CPURequest = v; return nil },
		"begun": func(v string) error { // begun=10: the update in place, at that version
			p.Update = pool.InPlaceUpdate{Revision: "2", Begun: true, Since: start.Add(-10 * time.Second)}
			return version(&p.Update.At)(v)
		},
		"before": func(v string) error { // the former cpu of the container db
			p.Update.Before = map[string]pool.Resources{"db": {CPURequest: v}}
			return nil
		},
		"gate": func(v string) error { // gate=closed:5s: since then
			state, since, _ := strings.Cut(v, ":")
			p.Gate = map[string]pool.Gate{"open": pool.GateOpen, "closed": pool.GateClosed}[state]
			return ago(&p.GateSince)(cmp.Or(since, "10s"))
		},
		"resize": func(v string) error { // resize=deferred:5m
			state, since, _ := strings.Cut(v, ":")
			p.Resize = map[string]pool.Resize{"underway": pool.ResizeUnderway, "deferred": pool.ResizeDeferred, "infeasible": pool.ResizeInfeasible}[state]
			return ago(&p.ResizeSince)(cmp.Or(since, "0s"))
		},
		"stopped":   func(string) error { p.Containers[0].Running = false; return nil },
		"restarted": func(string) error { p.Containers[0].ID = "second"; return nil },
		"observed": func(v string) (err error) {
			p.Generation = 3
			p.Observed, err = strconv.ParseInt(v, 10, 64)
			return err
		},
		"endsby": func(v string) error {
			d, err := time.ParseDuration(v)
			p.EndsBy = start.Add(d)
			return err
		},
		"unmatched": func(string) error { p.Unmatched = true; return nil },
		"node":      func(v string) error { p.Node.Name, p.Node.Gone = "n", v == "gone"; return nil },
		"silent":    ago(&p.Node.Silent),
		"notready":  ago(&p.NotReady),
		"mounts": func(v string) error {
			for name := range strings.SplitSeq(v, ",") {
				p.Mounts = append(p.Mounts, pool.Mount{Template: name, Claim: pool.ClaimName(s.Key.Name, name, id)})
			}
			return nil
		},
		"mounted": func(v string) error { // data:data-web-0: a claim of another name
			template, name, _ := strings.Cut(v, ":")
			p.Mounts = append(p.Mounts, pool.Mount{Template: template, Claim: name})
			return nil
		},
		"created": func(v string) error {
			d, err := time.ParseDuration(v)
			p.Created = plan.UnixTimeOf(start.Add(-d))
			return err
		},
		"cost":      number(&p.Cost),
		"withdrawn": version(&p.Withdrawn),
		"restarts":  number(&p.Restarts),
		"rev":       func(v string) error { p.Revision = v; return nil },
		"uid":       func(v string) error { p.UID = v; return nil },
		"owner":     func(v string) error { p.Owner = v; return nil },
		"version":   version(&p.Version),
		"for": func(v string) error {
			d, err := time.ParseDuration(v)
			p.ReadySince = start.Add(-d)
			return err
		},
		"claims": func(v string) error {
			for template := range strings.SplitSeq(v, ",") {
				s.Claims = append(s.Claims, claim(s, id, template))
				p.Mounts = append(p.Mounts, pool.Mount{Template: template, Claim: pool.ClaimName(s.Key.Name, template, id)})
			}
			return nil
		},
		"storage": func(v string) error { // of the claims that are written before it
			for i := range s.Claims {
				if s.Claims[i].ID == id {
					if err := storage(&s.Claims[i].Storage)(v); err != nil {
						return err
					}
				}
			}
			return nil
		},
		"marked": func(v string) error { // the claims that are written before it
			var siblings []string
			for _, c := range s.Claims {
				if c.ID == id {
					siblings = append(siblings, c.Template)
				}
			}
			for i := range s.Claims {
				if s.Claims[i].ID == id {
					s.Claims[i].From, s.Claims[i].Siblings = v, siblings
				}
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

func duration(to *time.Duration) func(string) error {
	return func(v string) (err error) { *to, err = time.ParseDuration(v); return err }
}

func storage(to *pool.Storage) func(string) error {
	return func(v string) (err error) {
		to.Text = v
		to.Bytes, err = strconv.ParseInt(v, 10, 64)
		return err
	}
}

func ago(to *time.Time) func(string) error {
	return func(v string) error {
		d, err := time.ParseDuration(v)
		*to = start.Add(-d)
		return err
	}
}

func share(to *pool.Share) func(string) error {
	return func(v string) (err error) {
		if percent, is := strings.CutSuffix(v, "%"); is {
			to.Percent, err = strconv.Atoi(percent)
			return err
		}
		to.Pods, err = strconv.Atoi(v)
		return err
	}
}

// images reads db:2, the image of the container db.
func images(to map[string]string) func(string) error {
	return func(v string) error {
		container, _, _ := strings.Cut(v, ":")
		to[container] = v
		return nil
	}
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
		steps = pool.Plan(s)
		d = hold.Decide(&s, steps)
	}
	if broken := pools.Check(s, steps, d); broken != nil {
		lines = append(lines, "  breaks "+broken.Error())
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
