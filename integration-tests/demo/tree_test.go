package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestTreeShowsRolloutWithBars(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	wantText(t, printed(tree([]rolloutSpan{
		{trace: "1", id: "r", name: "rollout ingester", namespace: "north", start: at(0), end: at(8)},
		{trace: "1", id: "a", parent: "r", name: "zone ingester-zone-a", start: at(0), end: at(4)},
		{trace: "1", id: "p", parent: "a", name: "pod ingester-zone-a-0", start: at(0), end: at(2)},
		{trace: "2", id: "x", name: "rollout ingester", namespace: "south", start: at(1), end: at(3)},
		{trace: "1", id: "q", parent: "a", name: "pod ingester-zone-a-1", start: at(2), end: at(4)},
		{trace: "1", id: "b", parent: "r", name: "zone ingester-zone-b", start: at(4), end: at(8)},
	}, asciiSymbols)), `
north/ingester            0.0 s   8.0 s  ########################################
  ingester-zone-a         0.0 s   4.0 s  ####################
    ingester-zone-a-0     0.0 s   2.0 s  ##########
    ingester-zone-a-1     2.0 s   2.0 s            ##########
  ingester-zone-b         4.0 s   4.0 s                      ####################

south/ingester            0.0 s   2.0 s  ########################################
`)
}

func TestReadSpans(t *testing.T) {
	t.Parallel()
	field := func(to []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
	}
	fixed := func(to []byte, number protowire.Number, value uint64) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(to, number, protowire.Fixed64Type), value)
	}
	attribute := field(field(nil, 1, []byte("k8s.namespace.name")), 2, field(nil, 1, []byte("north")))
	span := field(field(field(field(nil, 1, []byte{0xab}), 2, []byte{1}), 4, []byte{2}), 5, []byte("pod p-0"))
	span = field(fixed(fixed(protowire.AppendVarint(protowire.AppendTag(span, 6, protowire.VarintType), 1), 7, 5), 8, 9), 9, attribute)
	message := field(nil, 1, field(field(nil, 1, []byte("resource")), 2, field(nil, 2, span)))
	got, err := readSpans(message)
	want := rolloutSpan{trace: "ab", id: "01", parent: "02", name: "pod p-0", namespace: "north", start: time.Unix(0, 5), end: time.Unix(0, 9)}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	if _, err := readSpans(message[:len(message)-3]); err == nil {
		t.Error("half a message is read without an error")
	}
}
