package contract_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestAnnotationsOfAStatefulClusterWithoutEffectAreReported(t *testing.T) {
	type texts = map[string]string
	for sentence, tc := range map[string]struct {
		annotations, labels texts
		paused              bool
		want                string
	}{
		"nothing is written":             {nil, texts{"app": "db"}, false, ""},
		"a pause with end and reason":    {texts{contract.PausedUntilAnnotation: "x", contract.PausedReasonAnnotation: "y"}, nil, true, ""},
		"a reason without a pause":       {texts{contract.PausedReasonAnnotation: "y"}, nil, false, "annotation lockstep.dev/paused-reason has no effect without spec.paused"},
		"a request to adopt pods":        {texts{contract.AdoptAnnotation: "true"}, nil, false, ""},
		"no clear request to adopt":      {texts{contract.AdoptAnnotation: "yes"}, nil, false, `annotation lockstep.dev/adopt is "yes": only true has an effect`},
		"a pause of a zone":              {texts{contract.PausedAnnotation: "true"}, nil, true, "annotation grafana.com/rollout-paused has no effect: it has an effect only as annotation on StatefulSet"},
		"a group":                        {nil, texts{contract.GroupLabel: "db"}, false, "label rollout-group has no effect: it has an effect only as label on StatefulSet"},
		"what pods have":                 {texts{contract.DeletionCostAnnotation: "5"}, nil, false, "annotation controller.kubernetes.io/pod-deletion-cost has no effect: it has an effect only as annotation on Pod"},
		"a restart of the object":        {texts{contract.RestartedAtAnnotation: "now"}, nil, false, "annotation kubectl.kubernetes.io/restartedAt has no effect: it has an effect only as annotation on pod template of a StatefulCluster"},
		"a misspelled word":              {texts{"lockstep.dev/adopted": "true"}, nil, false, "annotation lockstep.dev/adopted has no effect: did you mean annotation lockstep.dev/adopt?"},
		"words of other products":        {texts{"example.com/paused-until": "x"}, texts{"helm.sh/chart": "db"}, false, ""},
		"labels that every object has":   {nil, texts{contract.ManagedByLabel: "Helm"}, false, ""},
		"a switch of a zone that is off": {texts{contract.PausedAnnotation: "false"}, nil, false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := contract.WithoutEffectOnPool(tc.annotations, tc.labels, tc.paused); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAnnotationsWithoutEffectAreReported(t *testing.T) {
	type texts = map[string]string
	for sentence, tc := range map[string]struct {
		annotations, labels texts
		want                string
	}{
		"nothing is written": {nil, nil, ""},
		"switches that are on": {
			texts{
				contract.PausedAnnotation: "true", contract.LeaderAnnotation: "zone-a", contract.AfterLeaderAnnotation: "true",
				contract.PreparePortAnnotation: "80", contract.PreparePathAnnotation: "leave",
			},
			texts{contract.NoDownscaleLabel: "true", contract.PrepareDownscaleLabel: "true"}, "",
		},
		"switches that are off":         {texts{contract.PausedAnnotation: "false", contract.AfterLeaderAnnotation: ""}, texts{contract.NoDownscaleLabel: "false"}, ""},
		"an invalid pause":              {texts{contract.PausedAnnotation: "True"}, nil, `annotation grafana.com/rollout-paused is "True": only true has an effect`},
		"a follower":                    {texts{contract.LeaderAnnotation: "zone-a", contract.AfterLeaderAnnotation: "1"}, nil, `annotation grafana.com/rollout-upscale-only-when-leader-ready is "1": only true has an effect`},
		"an invalid no-downscale label": {nil, texts{contract.NoDownscaleLabel: "yes"}, `label grafana.com/no-downscale is "yes": only true has an effect`},
		"two at once":                   {nil, texts{contract.NoDownscaleLabel: "TRUE", contract.PrepareDownscaleLabel: "on"}, `label grafana.com/no-downscale is "TRUE": only true has an effect; label grafana.com/prepare-downscale is "on": only true has an effect`},
		"both halves of a delay":        {texts{contract.DelayAnnotation: "1h", contract.DelayURLAnnotation: "http://pod/leave"}, nil, ""},
		"a delay without an URL":        {texts{contract.DelayAnnotation: "1h"}, nil, "annotation grafana.com/rollout-delayed-downscale has no effect without grafana.com/rollout-prepare-delayed-downscale-url"},
		"an URL without a delay":        {texts{contract.DelayURLAnnotation: "http://pod/leave"}, nil, "annotation grafana.com/rollout-prepare-delayed-downscale-url has no effect without grafana.com/rollout-delayed-downscale"},
		"a call without the label that enables it": {
			texts{contract.PreparePortAnnotation: "80", contract.PreparePathAnnotation: "leave"}, nil,
			"annotation grafana.com/prepare-downscale-http-port has no effect without label grafana.com/prepare-downscale; annotation grafana.com/prepare-downscale-http-path has no effect without label grafana.com/prepare-downscale",
		},
		"a call that is off": {texts{contract.PreparePortAnnotation: "80", contract.PreparePathAnnotation: "leave"}, texts{contract.PrepareDownscaleLabel: "false"}, ""},
		"a call without a path": {
			texts{contract.PreparePortAnnotation: "80"}, texts{contract.PrepareDownscaleLabel: "true"},
			"label grafana.com/prepare-downscale requires annotation grafana.com/prepare-downscale-http-path: lockstep refuses downscales without it",
		},
		"a follower without a leader": {texts{contract.AfterLeaderAnnotation: "true"}, nil, "annotation grafana.com/rollout-upscale-only-when-leader-ready has no effect without grafana.com/rollout-downscale-leader"},
		"the end of no pause":         {texts{contract.PausedUntilAnnotation: "2026-01-05T12:00:00Z"}, nil, "annotation lockstep.dev/paused-until has no effect without grafana.com/rollout-paused"},
		"the end of a pause":          {texts{contract.PausedUntilAnnotation: "2026-01-05T12:00:00Z", contract.PausedAnnotation: "true"}, nil, ""},
		"a report about no resource":  {texts{contract.MirrorWriteBackAnnotation: "true"}, nil, "annotation grafana.com/rollout-mirror-replicas-from-resource-write-back has no effect without grafana.com/rollout-mirror-replicas-from-resource-name"},
		"the label that enables a call is invalid": {
			texts{contract.PrepareDownscaleLabel: "true", contract.PreparePathAnnotation: "leave"}, nil,
			"annotation grafana.com/prepare-downscale-http-path has no effect without label grafana.com/prepare-downscale; annotation grafana.com/prepare-downscale has no effect: it has an effect only as label on StatefulSet",
		},
		"a path under another name": {
			texts{contract.PreparePortAnnotation: "80", "grafana.com/prepare-downscale-http-url": "leave"}, texts{contract.PrepareDownscaleLabel: "true"},
			"label grafana.com/prepare-downscale requires annotation grafana.com/prepare-downscale-http-path: lockstep refuses downscales without it; annotation grafana.com/prepare-downscale-http-url has no effect: did you mean annotation grafana.com/prepare-downscale-http-path?",
		},
		"a delay that is off":     {texts{contract.DelayAnnotation: "0"}, nil, ""},
		"a text that is too long": {texts{contract.PausedAnnotation: "a pause of which somebody has written a whole story"}, nil, `annotation grafana.com/rollout-paused is "a pause of which somebody has written a...: only true has an effect`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := contract.WithoutEffect(contract.Metadata{Annotations: tc.annotations, Labels: tc.labels}); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
