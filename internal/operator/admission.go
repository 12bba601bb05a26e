package operator

import (
	"context"
	"net/http"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// callPods returns the caller of pods. The executor and the webhooks share it, so its limits
// apply to both together.
func (o *Operator) callPods() podcalls.Zones {
	return podcalls.Zones{Caller: podcalls.New(podcalls.Options{
		Managed:       func(namespace string) bool { return o.observer.Managed(namespace) },
		ClusterDomain: o.config.Pods.ClusterDomain,
		CallLimit:     o.config.Pods.Timeout,
		Tracer:        o.tracer,
		Observe:       o.counting().called,
	})}
}

// counting counts calls to pods and answers of webhooks. It counts them for a group while the
// group exists.
type counting struct {
	metrics *telemetry.Metrics
	exists  func(plan.Key) bool
}

func (o *Operator) counting() counting {
	return counting{o.metrics, func(key plan.Key) bool { return o.observer.Has(key) }}
}

func (c counting) called(pod podcalls.Pod, purpose podcalls.Purpose, r podcalls.Result) {
	c.metrics.PodCalled(telemetry.PodCall{
		Namespace: pod.Namespace, Purpose: string(purpose), Outcome: string(r.Outcome), Why: string(r.Why), Status: r.Status, Took: r.Took,
	})
	if pod.Group.Rolled() && c.exists(pod.Group) {
		c.metrics.Group(pod.Group.Namespace, pod.Group.Name).PodCalled(string(purpose), string(r.Outcome))
	}
}

// newMessages returns the table of messages to pods of zones with a delay.
func (o *Operator) newMessages() *podcalls.Messages {
	return podcalls.NewMessages(o.pods.Caller, podcalls.MessageOptions{StayEvery: o.config.Pods.StayEvery, Answered: o.enqueue, Now: o.clients.clock.Now})
}

// newPreparations returns the table of requests to pods to prepare for downscales.
func (o *Operator) newPreparations() *podcalls.Preparations {
	return podcalls.NewPreparations(o.pods, podcalls.PreparationOptions{Answered: o.enqueue, Now: o.clients.clock.Now, Abandoned: func(ctx context.Context, key plan.Key, d group.Downscale) {
		if err := o.admissionHolds().UndoAgain(ctx, key, d, o.clients.clock); err != nil {
			o.log.WithContext(ctx).WithError(err).WithFields(logrus.Fields{"namespace": key.Namespace, "group": key.Name, "zone": d.Zone}).
				Warn("the former leader called pods to prepare for a downscale; they may not be notified that they stay")
		}
	}})
}

func (o *Operator) admissionHolds() admission.Holds {
	return admission.Holds{Store: o.holds, Managed: o.observer.Managed}
}

// admission returns the handler that answers the reviews of API servers.
func (o *Operator) admission() http.Handler {
	turns := &admission.GroupLocks{}
	holds, pods, pools := o.admissionHolds(), o.podLookup(), o.poolLookup()
	o.downscales = &admission.PrepareDownscale{
		Observer: o.observer, Holds: holds, Pods: o.pods, Locks: turns, Log: o.log, Clock: o.clients.clock, DryRun: o.config.DryRun,
	}
	return admission.New(admission.Options{
		NoDownscale: admission.NoDownscale{
			Parents: admission.ScaleParents{Cached: o.observer.Scaled, Client: o.clients.work},
			Strict:  o.config.Webhooks.NoDownscaleOnError == "deny",
		},
		PrepareDownscale: o.downscales,
		PodEviction: &admission.PodEviction{
			Observer: pods, Pools: pools, Holds: holds, Fresh: o.controller.Fresh, Locks: turns, Log: o.log, Clock: o.clients.clock, DryRun: o.config.DryRun,
			Unpinned: o.metrics.EvictionUnpinned, Decided: o.decisions.decided,
		},
		PodEvictionPin: &admission.PodEvictionPin{Observer: pods, DryRun: o.config.DryRun},
		Limit:          o.config.ServerTLS.RequestTimeout,
		Log:            o.log,
		Tracer:         o.tracer,
		Observe:        o.counting().reviewed,
		Begin:          o.metrics.Reviewing,
	})
}

func (c counting) reviewed(seen admission.Observation) {
	c.metrics.Reviewed(telemetry.Review{
		Namespace: seen.Namespace, Webhook: seen.Webhook, Verdict: string(seen.Verdict), Reason: string(seen.Reason), Span: seen.Span, Took: seen.Took,
	})
	if seen.Verdict == admission.Denied && seen.Group.Rolled() && c.exists(seen.Group) && !seen.DryRun {
		c.metrics.Group(seen.Group.Namespace, seen.Group.Name).Refused(seen.Webhook, string(seen.Reason))
	}
}
