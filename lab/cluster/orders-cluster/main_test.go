package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/orders/lab/cluster"
)

func TestHandler_RefusesUnknownNodesAndStrangers(t *testing.T) {
	t.Parallel()
	for want, request := range map[int]*http.Request{
		http.StatusNotFound:  httptest.NewRequest(http.MethodPut, "http://localhost/nodes/oracle1/kill", http.NoBody),
		http.StatusForbidden: httptest.NewRequest(http.MethodPut, "http://evil.example/nodes/postgres1/kill", http.NoBody),
	} {
		request.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		handler(&cluster.Cluster{}).ServeHTTP(w, request)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", request.URL, w.Code, want)
		}
	}
}
