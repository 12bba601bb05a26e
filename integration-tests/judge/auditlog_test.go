package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const auditLines = `{"verb":"delete","user":{"username":"op"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0"},"responseStatus":{"code":200},"requestObject":{"preconditions":{"uid":"u","resourceVersion":"17"}},"responseObject":{"metadata":{"uid":"u"}},"requestReceivedTimestamp":"2026-01-02T15:04:05.000001Z"}
{"verb":"patch","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0"},"responseStatus":{"code":200}}
{"verb":"delete","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-1"},"responseStatus":{"code":409},"requestObject":{"preconditions":{"uid":"w"}}}
{"verb":"patch","user":{"username":"op"},"objectRef":{"resource":"statefulsets","subresource":"status","namespace":"m","name":"a"},"responseStatus":{"code":200}}
`

func TestAuditLogReadsAppendedLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	log := NewAuditLog(path, func(user string) bool { return user == "op" })
	if got, err := log.Requests(); err != nil || len(got) > 0 {
		t.Fatalf("before the file exists: %v, %v", got, err)
	}
	var got []Request
	for _, size := range []int{10, 400, 700, len(auditLines)} { // the lines arrive in pieces
		if err := os.WriteFile(path, []byte(auditLines[:size]), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if got, err = log.Requests(); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 3 {
		t.Fatalf("%d requests, want 3, those of the operator and all deletions of pods: %v", len(got), got)
	}
	if first := got[0]; !first.conditional() || first.RequiredVersion != 17 || first.UID != "u" || first.At.IsZero() || !first.mayHaveSucceeded() {
		t.Errorf("deletion of the operator: got %+v", first)
	}
	if second := got[1]; second.conditional() || second.UID != "w" || second.mayHaveSucceeded() {
		t.Errorf("deletion of another user: got %+v", second)
	}
	if third := got[2].String(); third != "patch statefulsets/status m/a by op: 200" {
		t.Errorf("patch: got %s", third)
	}
	got[0], got[1] = Request{}, Request{} // the slice belongs to the caller
	if again, err := log.Requests(); err != nil || again[0].Name != "a-0" {
		t.Errorf("second call: %v, %v", again, err)
	}
	if in, err := log.RequestsIn("m"); err != nil || len(in) != 1 || in[0].Name != "a" {
		t.Errorf("in namespace m: %v, %v", in, err)
	}
}

func TestForbiddenRequestsReportsUnexpectedWrites(t *testing.T) {
	t.Parallel()
	const user = operatorUser
	got := ForbiddenRequests([]Request{
		{User: user, Verb: "delete", Resource: "pods", Name: "fine", Code: 200},
		{User: user, Verb: "list", Resource: "pods", Code: 200},
		{User: user, Verb: "create", Resource: "events", Name: "too late", Code: 403},
		{User: "system:kube-controller-manager", Verb: "delete", Resource: "pods", Code: 403, Forbidden: true},
		{User: user, Verb: "update", Resource: "leases", Name: "refused", Code: 403, Forbidden: true},
		{User: user, Verb: "update", Resource: "statefulsets", Name: "spec", Code: 200},
	}, func(name string) bool { return name == user })
	want := []string{"not a write of any operator: update statefulsets", "refused for lack of permission: update leases"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %d", got, len(want))
	}
	for i, beginning := range want {
		if !strings.HasPrefix(got[i], beginning) {
			t.Errorf("request %d: got %q, want %q", i, got[i], beginning)
		}
	}
}

func TestAuditLogReturnsUnansweredRequests(t *testing.T) {
	t.Parallel()
	const received = `{"auditID":"%s","stage":"RequestReceived","verb":"delete","user":{"username":"op"},"userAgent":"lockstep/x","objectRef":{"resource":"pods","namespace":"n","name":"%s"},"requestReceivedTimestamp":"2026-01-02T15:04:05Z","stageTimestamp":"2026-01-02T15:04:05Z"}` + "\n"
	const answered = `{"auditID":"%s","stage":"ResponseComplete","verb":"delete","user":{"username":"op"},"objectRef":{"resource":"pods","namespace":"n","name":"%s"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T15:04:05Z","stageTimestamp":"2026-01-02T15:04:06Z"}` + "\n"
	lines := fmt.Sprintf(received, "1", "a-0") + fmt.Sprintf(received, "2", "a-1") + fmt.Sprintf(answered, "1", "a-0")
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	log := NewAuditLog(path, func(string) bool { return true })
	got, err := log.RequestsIn("n")
	if err != nil || len(got) != 2 {
		t.Fatalf("%d requests, want 2: %v, %v", len(got), got, err)
	}
	if first := got[0]; first.Name != "a-0" || !first.answered() || first.Ended.IsZero() {
		t.Errorf("answered request: got %+v", first)
	}
	second := got[1]
	if second.Name != "a-1" || second.answered() || !second.Ended.IsZero() || !second.mayHaveSucceeded() || second.Agent != "lockstep/x" {
		t.Errorf("unanswered request: got %+v", second)
	}
	if text := second.String(); text != "delete pods n/a-1 by op: no answer" {
		t.Errorf("got text %q", text)
	}
	if elsewhere, err := log.RequestsIn("m"); err != nil || len(elsewhere) > 0 {
		t.Errorf("in another namespace: %v, %v", elsewhere, err)
	}
}

func TestAuditLogSkipsLinesTruncatedByKilledAPIServer(t *testing.T) {
	t.Parallel()
	const head = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse",`
	const complete = head + `"auditID":"%s","stage":"%s","verb":"delete","user":{"username":"op"},"objectRef":{"resource":"pods","namespace":"n","name":"%s"}}` + "\n"
	truncated := head + `"auditID":"1","stage":"ResponseComplete","verb":"delete","user":{"username":"another-client"},"requestObject":{"a`
	lines := fmt.Sprintf(complete, "1", "RequestReceived", "a-0") + truncated + head + truncated + fmt.Sprintf(complete, "2", "RequestReceived", "a-1")
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := NewAuditLog(path, func(user string) bool { return user == "op" }).RequestsIn("n")
	if err != nil || len(got) != 2 || got[0].answered() || got[1].Name != "a-1" {
		t.Errorf("got %v, %v; want the truncated deletion as unanswered, and the deletion after it", got, err)
	}
}

const evictionLines = `{"verb":"create","requestURI":"/api/v1/namespaces/n/pods/a-0/eviction","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0","subresource":"eviction"},"responseStatus":{"code":201},"requestObject":{"kind":"Eviction","deleteOptions":{"gracePeriodSeconds":5}},"annotations":{"patch.webhook.admission.k8s.io/round_0_index_0":"{\"patch\":[{\"op\":\"test\",\"path\":\"/x\",\"value\":[1]},{\"op\":\"add\",\"path\":\"/deleteOptions/preconditions\",\"value\":{\"uid\":\"u\"}},{\"op\":\"add\",\"path\":\"/deleteOptions/preconditions/resourceVersion\",\"value\":\"17\"}]}"},"requestReceivedTimestamp":"2026-01-02T15:04:05.000001Z","stageTimestamp":"2026-01-02T15:04:06Z"}
{"verb":"create","requestURI":"/api/v1/namespaces/n/pods/a-0/eviction?dryRun=All","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0","subresource":"eviction"},"responseStatus":{"code":201},"requestObject":{"deleteOptions":{"preconditions":{"uid":"w"}}}}
{"verb":"create","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0","subresource":"eviction"},"responseStatus":{"code":201},"requestObject":{"deleteOptions":{"dryRun":["All"]}}}
{"verb":"create","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0","subresource":"eviction"},"responseStatus":{"code":429},"requestObject":{}}
{"verb":"create","user":{"username":"another-client"},"objectRef":{"resource":"pods","namespace":"n","name":"a-0","subresource":"binding"},"responseStatus":{"code":201}}
`

func TestAuditLogAppliesWebhookPatchesToEvictions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(evictionLines), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := NewAuditLog(path, func(string) bool { return false }).Requests()
	if err != nil || len(got) != 4 {
		t.Fatalf("%d requests, want the 4 evictions: %v, %v", len(got), got, err)
	}
	if first := got[0]; first.RequiredUID != "u" || first.RequiredVersion != 17 || first.Ended.Sub(first.At) < 900*time.Millisecond {
		t.Errorf("first eviction: got %+v", first)
	}
	if second := got[1]; second.RequiredUID != "w" {
		t.Errorf("second eviction: got %+v", second)
	}
	for i, want := range []bool{true, false, false, false} {
		if got[i].mayHaveSucceeded() != want {
			t.Errorf("eviction %d may have succeeded: got %t, want %t", i, !want, want)
		}
	}
}

func TestAuditLogKeepsFailingAfterUnreadableLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	log := NewAuditLog(path, func(user string) bool { return user == "op" })
	first, rest, _ := strings.Cut(auditLines, "\n")
	if err := os.WriteFile(path, []byte(first[:len(first)/2]+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := log.Requests(); err == nil {
			t.Errorf("got no error after an unreadable line: %v", got)
		}
	}
	if got, err := log.RequestsIn("m"); err == nil {
		t.Errorf("got no error for a namespace after an unreadable line: %v", got)
	}
}
