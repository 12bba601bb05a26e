package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestLongKeepsExplicitFlags(t *testing.T) {
	s, err := parse([]string{"-long", "-rollout.runs=3", "-idle.groups", "7, 9"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.rollout.runs != 3 || s.idle.groups.String() != "7,9" {
		t.Errorf("the given settings are lost: %d runs, idle groups %s", s.rollout.runs, s.idle.groups.String())
	}
	if s.memory.others != 20000 || s.memory.pods.String() != "1000,5000" || s.idle.window != 2*time.Minute {
		t.Errorf("-long measures %d other pods, %s managed ones, idleness for %s", s.memory.others, s.memory.pods.String(), s.idle.window)
	}
}

func TestLongSizesAreLarger(t *testing.T) {
	s, err := parse([]string{"-long"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	short, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.many.runs <= short.many.runs || s.many.groups != 1000 || s.fairness.groups <= short.fairness.groups || s.failover.kills <= short.failover.kills || s.evict.pods <= short.evict.pods {
		t.Errorf("-long is not longer: %+v, %+v", s, short)
	}
}

func TestContenderFlagNames(t *testing.T) {
	s, err := parse([]string{
		"-contender", "/bin/one -namespace={namespace}", "-contender", "tuned=/bin/one -tick 50ms", "-contender", "/bin/two",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := namedCommands{{"contender", "/bin/one -namespace={namespace}"}, {"tuned", "/bin/one -tick 50ms"}, {"contender-3", "/bin/two"}}
	if len(s.others) != 3 || s.others[0] != want[0] || s.others[1] != want[1] || s.others[2] != want[2] {
		t.Errorf("got %v, want %v", s.others, want)
	}
	if names := strings.Join((&bench{settings: s}).names(), " "); names != "floor lockstep contender tuned contender-3" {
		t.Errorf("the columns are %s", names)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	for sentence, arguments := range map[string][]string{
		"an unknown scenario":                   {"-only", "rollout,speed"},
		"no runs":                               {"-rollout.runs", "0"},
		"no reviews of evictions":               {"-evictions.rate", "0"},
		"more groups that roll than there are":  {"-large.groups", "5"},
		"metrics that are scraped all the time": {"-memory.scrape", "500ms"},
		"pods that start for too long":          {"-many.start", "2m"},
		"a soak without a pace":                 {"-soak.every", "0s"},
		"a soak that is all warm-up":            {"-soak.minutes", "12"},
		"an invalid number":                     {"-memory.pods", "many"},
		"two operators of one name":             {"-contender", "a=x", "-contender", "a=y"},
		"an operator of the name of another":    {"-contender", "lockstep=x"},
		"an operator without a command":         {"-contender", ""},
		"something that is no flag":             {"rollout"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := parse(arguments, io.Discard); err == nil {
				t.Errorf("%q: got no error", arguments)
			}
		})
	}
}

func TestChosenScenarios(t *testing.T) {
	for only, want := range map[string]string{
		"":            "rollout many memory fairness failover webhooks evictions scaling status noisy large stand-in pool-birth pool-failover pool-fairness pool-memory pool-large",
		"idle":        "rollout",
		"pool-shrink": "pool-birth",
		"soak":        "soak",
		"memory,many": "many memory",
	} {
		b := &bench{settings: settings{only: only}}
		var got []string
		for _, s := range scenarios() {
			if b.isChosen(s) {
				got = append(got, s.names[0])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("-only %q measures %q, want %q", only, got, want)
		}
	}
}
