package pool_test

import "testing"

// Replicas were lowered to as many as have the newest template, while a pod that is held back still exists.
func TestTheTemplateThatIsHeldBackStaysTheCurrentOne(t *testing.T) {
	const lowered = "pool web replicas=1 partition=1\nrevision 1\nrevision 2\ncurrent 1\npod a ready rev=2\n"
	for text, want := range map[string]string{lowered + "pod b ready rev=1": "1", lowered + "pod b terminating rev=1": "2", lowered: "2"} {
		s, err := parse("# promise\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.snapshot.Current().Name; got != want {
			t.Errorf("%s\nthe current revision is %s, want %s", text, got, want)
		}
	}
}
