package reason

const nothing = "Nothing; it ends by itself."

var catalogue = []Entry{
	{OutdatedRevision, 1, Deed, "the pod runs another revision than its StatefulSet asks for", "Nothing; this is what a rollout does."},
	{OutdatedAndDown, 2, Deed, "the pod runs another revision than its StatefulSet asks for and is not Ready, so replacing it costs no availability", "Nothing; this is how a broken revision heals."},
	{RevisionComplete, 3, Deed, "every pod of the zone runs the update revision and is available, so it becomes the current revision", "Nothing."},
	{NoLongerWanted, 4, Deed, "a pod was noted to be taken down, which is no longer wanted or allowed; the pod is touched so that a delete in flight cannot succeed", "Nothing."},
	{ZoneSettled, 5, Deed, "the operation in this zone is over and the zone is whole, so the group's hold is given back", "Nothing."},
	{DownscaleSeen, 6, Deed, "a zone has pods beyond spec.replicas, so its downscale is noted in the group's hold although nobody was asked", "Nothing. Install the webhook prepare-downscale to have downscales guarded before they happen."},
	{DownscaleOver, 7, Deed, "no pod beyond spec.replicas exists any more, so the downscale is over", "Nothing."},
	{DownscaleNeverCame, 8, Deed, "a downscale was admitted or being prepared and did not happen; what was prepared is undone", "Nothing; whoever wants it asks again."},
	{DownscaleAdmitted, 9, Deed, "a downscale may happen: the group's hold says so, and who leaves is prepared", "Nothing."},
	{NotShrinking, 10, Deed, "the change takes no replica away", "Nothing."},
	{NotGuarded, 11, Deed, "the object asks for no care when it shrinks", "Nothing."},
	{LeaderFollowed, 12, Deed, "the zone follows its leader, which asks for another number of replicas", "Nothing; this is what grafana.com/rollout-downscale-leader asks for."},
	{ReferenceMirrored, 13, Deed, "the zone takes over the replicas of the resource that its annotations name", "Nothing; this is what grafana.com/rollout-mirror-replicas-from-resource-name asks for."},
	{BudgetValid, 14, Deed, "the ZoneAwarePodDisruptionBudget can be used as it is written", "Nothing."},

	{PodMissing, 101, Wait, "a pod that should exist does not exist", "If it lasts: look for a quota, an admission webhook or a volume that keeps the StatefulSet controller from creating it."},
	{PodStarting, 102, Wait, "a pod exists and is not Ready yet", "If it lasts: look at the pod's events and logs."},
	{PodFailing, 103, Wait, "a container of the pod cannot run (crash loop, image pull, configuration)", "Look at the pod. A corrected template replaces it at once, without waiting for it."},
	{PodLeaving, 104, Wait, "a pod is terminating", "If it lasts: look for a finalizer or a node that does not answer."},
	{PodNotYetStable, 105, Wait, "a pod is Ready for less than minReadySeconds", nothing},
	{PodAboutToLeave, 106, Wait, "a pod is noted in the hold as about to be taken down, or its replacement has not been seen yet", nothing},
	{SurplusPods, 107, Wait, "pods beyond spec.replicas still exist", "If it lasts: look at the named pod."},
	{OtherZoneNotWhole, 108, Wait, "another zone of the group is not whole: it misses pods, or pods of it are not available", "Usually nothing; look at the named pod of the other zone if it lasts."},
	{NotItsTurn, 109, Wait, "another zone of the group comes first", nothing},
	{GroupHeld, 110, Wait, "another operation holds the group", "Usually nothing; the holder's identity says which operation in which zone."},
	{StatusBehind, 111, Wait, "the status of the StatefulSet is behind its spec or its pods", "If it lasts: see whether the kube-controller-manager works."},
	{CacheBehind, 112, Wait, "lockstep has not yet seen in its cache what it or another replica has written", "If it lasts: see in lockstep's log whether its watches work."},
	{ZoneDeleting, 113, Wait, "the StatefulSet is being deleted", "If it lasts: look for finalizers on the StatefulSet."},
	{TooManyIntents, 114, Wait, "the group has as many pods noted as a hold may carry (100)", nothing},
	{RequestFailing, 115, Wait, "requests of lockstep to the API server fail", "Usually nothing; they are repeated with back-off. If it lasts: the API server's answer is in lockstep's log."},
	{ZoneShrinking, 116, Wait, "a downscale of the zone is under way", nothing},
	{DownscaleTooSoon, 117, Wait, "another zone of the group shrank less than the minimum time ago", nothing},
	{OthersCameFirst, 118, Wait, "an operation in another zone was refused earlier and comes first", nothing},
	{PreparationUndone, 119, Wait, "pods are told that they stay after all, since a downscale did not happen", "If it lasts: see in lockstep's log which pod does not answer the DELETE request."},
	{ObjectMoved, 120, Wait, "the object has changed since the request read it", "Nothing; clients try again by themselves."},
	{PreparationFailed, 121, Wait, "a pod that would leave did not answer that it is prepared", "If it lasts: look at the named pod, and at the annotations that say how it is asked."},
	{ParentUnknown, 122, Wait, "the object behind a request could not be read", "If it lasts: see lockstep's log, and /ready for missing permissions."},
	{CacheEmpty, 123, Wait, "this replica of lockstep has not seen the cluster yet", "If it lasts: see in lockstep's log whether its watches work."},
	{LeaderNotReady, 124, Wait, "the zone grows only once its leader has as many pods as it grows to, all of them available", "If it lasts: look at the leader's pods."},
	{DownscaleDelayed, 125, Wait, "who leaves has not been ready to leave for as long as grafana.com/rollout-delayed-downscale asks for", nothing},
	{PodNotAgreed, 126, Wait, "a pod that leaves has not said yet that it is ready to; neither it nor any pod before it leaves", "If it lasts: look at the pod's logs, and whether it answers POST at the path of grafana.com/rollout-prepare-delayed-downscale-url with a timestamp."},
	{ReferenceUnseen, 127, Wait, "the resource whose replicas the zone takes over has not been read yet", nothing},
	{ReportContested, 128, Wait, "somebody else writes another number of replicas into the status of the resource that the zone mirrors", "If it lasts: find out who writes status.replicas there, or set grafana.com/rollout-mirror-replicas-from-resource-write-back to false."},
	{ReportFailed, 129, Wait, "the API server did not accept the number of replicas in the status of the resource that the zone mirrors", "If it lasts: see in the log why, and give lockstep the right to patch the status (docs/scaling.md), or set grafana.com/rollout-mirror-replicas-from-resource-write-back to false."},
	{PodNotTold, 130, Wait, "a pod that was prepared to leave and stays has not answered yet that it knows; its group is held until it has", "If it lasts: look at the pod's logs, and whether it answers DELETE where it answers POST. It is not asked any more once it is replaced."},

	{Paused, 201, Attention, "the StatefulSet carries the annotation grafana.com/rollout-paused=true", "Remove the annotation to let the rollout go on. A paused zone that is not whole still blocks the others."},
	{WrongUpdateStrategy, 202, Attention, "a StatefulSet of the group has another update strategy than OnDelete, so another controller would interfere; no pod of the group is rolled", "Set spec.updateStrategy.type to OnDelete, or take the StatefulSet out of the group."},
	{StaleHold, 203, Attention, "the group's hold has expired and cannot be taken over: it has open intents, or its zone is not whole", "Bring the named zone to health. Never delete a Lease that has intents."},
	{HoldUnreadable, 204, Attention, "the group's Lease carries intents in a form that this version does not know, or that are damaged; they are respected", "Run the version that wrote them, or repair the annotation lockstep.dev/intents by hand."},
	{InvalidMaxUnavailable, 205, Attention, "the annotation rollout-max-unavailable is neither a positive number nor a percentage from 1% to 100%; 1 is used", "Correct the annotation."},
	{EmptyGroupName, 206, Attention, "the label rollout-group is empty, so all such StatefulSets of the namespace form one group", "Give the group a name."},
	{RequestForbidden, 207, Attention, "the API server forbids a request that lockstep needs to make", "See lockstep's log for the request and the answer, and /ready for missing permissions; then apply manifests/rbac, or mend the admission policy or quota that forbids it."},
	{InvalidPrepareCall, 208, Attention, "the annotations that say how pods are asked to prepare for leaving are missing or cannot be used", "Correct grafana.com/prepare-downscale-http-path and grafana.com/prepare-downscale-http-port, or remove the label grafana.com/prepare-downscale."},
	{PodOnHostNetwork, 209, Attention, "a pod has its node's address, so it cannot be asked to prepare: the call might reach somebody else", "Give the pods addresses of their own, or remove the label grafana.com/prepare-downscale or the annotation grafana.com/rollout-delayed-downscale."},
	{InvalidDownscaleTime, 210, Attention, "a time or duration that the time between two downscales depends on cannot be read", "Correct the annotation that the message names."},
	{DownscaleBarred, 211, Attention, "the object carries the label grafana.com/no-downscale=true", "Remove the label, in an update of its own, before the downscale."},
	{ObjectUnreadable, 212, Attention, "a review shows an object of another form than expected", "See the message; the webhook configuration may call lockstep for something else than manifests/webhooks do."},
	{ReplicasUnknown, 213, Attention, "an object does not say its number of replicas", "Set spec.replicas."},
	{LeaderUnknown, 214, Attention, "the annotation grafana.com/rollout-downscale-leader names no StatefulSet of the group; the zone keeps its replicas", "Correct the annotation, or remove it."},
	{LeaderInCycle, 215, Attention, "the way from leader to leader goes round in a circle, so nobody leads; the zone keeps its replicas", "Let one zone of the circle follow nobody: remove its annotation grafana.com/rollout-downscale-leader."},
	{ReplicasForced, 216, Attention, "the annotation grafana.com/rollout-force-replicas sets the zone's replicas, whatever its leader asks for", "Remove the annotation when the zone shall follow again."},
	{InvalidForceReplicas, 217, Attention, "the annotation grafana.com/rollout-force-replicas is no whole number from 0 to 2147483647; nothing is forced", "Correct the annotation, or remove it."},
	{ReferenceMissing, 218, Attention, "the resource whose replicas the zone takes over does not exist; the zone keeps its replicas", "Create it, or correct the annotation grafana.com/rollout-mirror-replicas-from-resource-name."},
	{ReferenceKindUnknown, 219, Attention, "the API server has no resource of the kind whose replicas the zone takes over, or it has no scale subresource; the zone keeps its replicas", "Install the kind's CRD, or correct the annotations grafana.com/rollout-mirror-replicas-from-resource-kind and -api-version."},
	{ReferenceForbidden, 220, Attention, "lockstep may not read or write the kind of resource whose replicas the zone takes over", "Give it the right: a ClusterRole with the label lockstep.dev/aggregate-to-references=true (docs/scaling.md)."},
	{ReferenceUnreadable, 221, Attention, "the resource whose replicas the zone takes over does not say how many that are; the zone keeps its replicas", "Set the replicas of the resource to a number from 0 on."},
	{InvalidReference, 222, Attention, "the annotations that name the resource whose replicas the zone takes over are incomplete or wrong; the zone keeps its replicas", "Correct the annotations that begin with grafana.com/rollout-mirror-replicas-from-resource."},
	{InvalidDelay, 223, Attention, "the annotations for delayed downscales are incomplete or wrong; the zone grows and does not shrink", "Correct grafana.com/rollout-delayed-downscale and grafana.com/rollout-prepare-delayed-downscale-url, or remove both."},
	{ReplicasOutOfRange, 224, Attention, "the zone should get more replicas than any cluster has pods; it keeps what it has", "Ask for at most 100,000 replicas."},
	{BudgetInvalid, 225, Attention, "the ZoneAwarePodDisruptionBudget cannot be used as it is written", "Correct it; the message names every field that is wrong (docs/evictions.md)."},
	{InvariantViolated, 299, Attention, "a plan broke one of lockstep's own safety rules and was not carried out", "Please report it with the log line: this is a bug in lockstep."},
}

var byCode = index(catalogue)

func index(entries []Entry) map[Code]Entry {
	m := make(map[Code]Entry, len(entries))
	for _, e := range entries {
		m[e.Code] = e
	}
	return m
}
