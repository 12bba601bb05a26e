package contract_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

func TestWhatIsWrittenWithoutEffectIsSaid(t *testing.T) {
	type texts = map[string]string
	for sentence, tc := range map[string]struct {
		annotations, labels texts
		want                string
	}{
		"nothing is written":      {nil, nil, ""},
		"switches that are on":    {texts{contract.PausedAnnotation: "true", contract.AfterLeaderAnnotation: "true"}, texts{contract.NoDownscaleLabel: "true", contract.PrepareDownscaleLabel: "true"}, ""},
		"switches that are off":   {texts{contract.PausedAnnotation: "false", contract.AfterLeaderAnnotation: ""}, texts{contract.NoDownscaleLabel: "false"}, ""},
		"a pause that is none":    {texts{contract.PausedAnnotation: "True"}, nil, `annotation grafana.com/rollout-paused is "True", and only true has an effect`},
		"a follower":              {texts{contract.AfterLeaderAnnotation: "1"}, nil, `annotation grafana.com/rollout-upscale-only-when-leader-ready is "1", and only true has an effect`},
		"a bar that is none":      {nil, texts{contract.NoDownscaleLabel: "yes"}, `label grafana.com/no-downscale is "yes", and only true has an effect`},
		"two at once":             {nil, texts{contract.NoDownscaleLabel: "TRUE", contract.PrepareDownscaleLabel: "on"}, `label grafana.com/no-downscale is "TRUE", and only true has an effect; label grafana.com/prepare-downscale is "on", and only true has an effect`},
		"both halves of a delay":  {texts{contract.DelayAnnotation: "1h", contract.DelayURLAnnotation: "http://pod/leave"}, nil, ""},
		"a delay without an URL":  {texts{contract.DelayAnnotation: "1h"}, nil, "annotation grafana.com/rollout-delayed-downscale has no effect without grafana.com/rollout-prepare-delayed-downscale-url"},
		"an URL without a delay":  {texts{contract.DelayURLAnnotation: "http://pod/leave"}, nil, "annotation grafana.com/rollout-prepare-delayed-downscale-url has no effect without grafana.com/rollout-delayed-downscale"},
		"a delay that is off":     {texts{contract.DelayAnnotation: "0"}, nil, ""},
		"a text that is too long": {texts{contract.PausedAnnotation: "a pause of which somebody has written a whole story"}, nil, `annotation grafana.com/rollout-paused is "a pause of which somebody has written a..., and only true has an effect`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := contract.WithoutEffect(tc.annotations, tc.labels); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
