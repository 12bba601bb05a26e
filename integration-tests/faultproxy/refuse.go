package faultproxy

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasons maps status codes to the reasons of the API server.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// refuse answers like the API server.
func refuse(w http.ResponseWriter, r Request, code int) {
	reason := reasons[code]
	if code == http.StatusConflict && r.Method == http.MethodPost {
		reason = metav1.StatusReasonAlreadyExists
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  "the fault proxy refuses " + r.String(),
		Reason:   reason,
		Details:  &metav1.StatusDetails{Name: r.Name, Kind: r.Resource},
		Code:     int32(code),
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1") // like the API server; libraries of clients then repeat the request by themselves
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have disconnected
}
