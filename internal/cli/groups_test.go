package cli

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

const products = "group team ingester\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\nzone-c rev=1\n zone-c-0 ready@1\n"

// annotate sets an annotation of a zone.
func (s *scene) annotate(zone, key, value string) {
	set := s.server.get(zonePath + zone)
	meta, _ := set["metadata"].(object)
	annotations, _ := meta["annotations"].(object)
	if annotations == nil {
		annotations = object{}
		meta["annotations"] = annotations
	}
	annotations[key] = value
	s.server.put(zonePath+zone, set)
}

func TestGroupAnnotationOverridesTheLabel(t *testing.T) {
	inScene(t, []string{products}, func(s *scene) {
		s.annotate("zone-b", contract.RolloutGroupAnnotation, "loki")
		s.annotate("zone-c", contract.IgnoreAnnotation, "true")
		for group, zone := range map[string]string{"ingester": "zone-a", "loki": "zone-b"} {
			out := s.succeeds("status", group)
			for _, name := range []string{"zone-a", "zone-b", "zone-c"} {
				if shown := strings.Contains(out, name); shown != (name == zone) {
					s.Errorf("group %s shows %s: %t\n%s", group, name, shown, out)
				}
			}
		}
		if _, _, errs := s.types("status", "store"); !strings.Contains(errs, "accepted: ingester, loki") {
			s.Errorf("got %q", errs)
		}
		s.succeeds("pause", "group/loki")
		if written := s.server.written(); len(written) != 1 || written[0] != "PATCH "+zonePath+"zone-b" {
			s.Errorf("a pause of the group loki wrote %q", written)
		}
		s.succeeds("why", "pod/zone-b-0")
	})
}

func TestIgnoredStatefulSetIsReported(t *testing.T) {
	inScene(t, []string{products}, func(s *scene) {
		s.annotate("zone-c", contract.IgnoreAnnotation, "true")
		for _, words := range []string{"pause zone/zone-c", "why pod/zone-c-0"} {
			if code, _, errs := s.types(strings.Fields(words)...); code != exitFailed || !strings.Contains(errs, "annotation lockstep.dev/ignore") {
				s.Errorf("%s: exit code %d: %s", words, code, errs)
			}
		}
	})
}

func TestInvalidGroupAnnotationIsShown(t *testing.T) {
	inScene(t, []string{products}, func(s *scene) {
		s.annotate("zone-b", contract.RolloutGroupAnnotation, "a b")
		if _, out, _ := s.types("status", "ingester"); !strings.Contains(out, "zone-b") || !strings.Contains(out, `InvalidGroup ("a b")`) {
			s.Errorf("got %s", out)
		}
	})
}
