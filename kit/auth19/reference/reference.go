// Package reference is a server that keeps the promise of every profile and, on request,
// breaks it in one way. It proves the probes.
package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config says which promise a process keeps, and how it breaks it.
type Config struct {
	Dir     string // shared by all processes
	Profile string
	Fault   string // the name of a fault, or ""
	Shape   string // the names of shapes
}

// behaviour is a choice that profiles make.
type behaviour struct {
	header, marker   string
	mismatch         int
	keyless          bool // accepts a request that has no key
	quoted           bool // a key may stand in quotes
	strict           bool // refuses malformed keys
	waits            bool // lets duplicates wait
	byRoute          bool // a key belongs to its route
	bytes            bool // compares bytes
	keepsFailures    bool
	runsRefusedAgain bool
	remembers        bool // has a second line of defence
}

// Expire makes every key of a folder expire.
func Expire(dir string) { openStore(dir).commit(line{Expire: true}) }

const replayed = "Idempotent-Replayed"

var behaviours = map[string]behaviour{
	"auth-19":   {marker: replayed, mismatch: 409, quoted: true, strict: true, waits: true, remembers: true},
	"draft-07":  {mismatch: 422, quoted: true},
	"stripe-v1": {marker: replayed, mismatch: 400, keyless: true, keepsFailures: true},
	"stripe-v2": {mismatch: 400, keyless: true, byRoute: true, runsRefusedAgain: true},
	"paypal":    {header: "PayPal-Request-Id", mismatch: 422, keyless: true},
	"acp":       {marker: replayed, mismatch: 422, byRoute: true},
	"ucp":       {mismatch: 409, byRoute: true, bytes: true},
}

type server struct {
	Config
	behaviour
	*store
	shape

	own sync.Map // keys that this process has claimed, for a fault
}

// Serve answers requests until the listener is closed.
func Serve(listener net.Listener, c Config) error {
	s := &server{Config: c, behaviour: behaviours[c.Profile], store: openStore(c.Dir)}
	if s.on("log") { // which it has since the first start
		s.booted = time.Now().Add(boot)
	}
	if s.is("has one worker") {
		listener = single{listener, make(chan struct{}, 1)}
	}
	s.header = cmp.Or(s.header, "Idempotency-Key")
	return (&http.Server{Handler: s, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// reply is a response.
type reply struct {
	Status         int
	Location, Body string

	again, later bool
}

func refuse(status int, text string) reply {
	return reply{Status: status, Body: fmt.Sprintf(`{"error":%q}`, text)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := s.shaped(w, r)
	w.Header().Set("Content-Type", "application/json")
	if forgets := got.again && s.Fault == "replays without Location"; got.Location != "" && !forgets {
		w.Header().Set("Location", got.Location)
	}
	if got.again && s.marker != "" && s.Fault != "marks no replay" {
		w.Header().Set(s.marker, "true")
	}
	if got.later && s.Fault != "says nothing of coming back" {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(got.Status)
	_, _ = io.WriteString(w, got.Body)
}

// answer does everything that comes before a key.
func (s *server) answer(r *http.Request) reply {
	token := r.Header.Get("Authorization")
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, map[bool]int64{false: 64 << 10, true: 4 << 20}[s.on("long-bodies")]))
	var c command
	switch {
	case token == "" && s.Fault != "replays to strangers":
		return refuse(401, "no token")
	case r.Method == http.MethodGet:
		text, _ := json.Marshal(map[string]any{"data": s.listed(token)})
		return reply{Status: 200, Body: string(text)}
	case r.URL.RawQuery != "":
		return refuse(400, "unknown query")
	case r.Method != http.MethodPost || !slices.Contains([]string{"/charges", "/refunds", "/quiet", "/limit"}, r.URL.Path):
		return refuse(404, "no such route")
	case err != nil || json.Unmarshal(body, &c) != nil:
		got := refuse(400, "no JSON object")
		if key, usable := s.key(r.Header.Values(s.header)); usable && s.Fault == "keeps the key of an unreadable body" {
			s.commit(line{Record: &record{ID: token + " " + key, Reply: got}})
		}
		return got
	}
	key, usable := s.key(r.Header.Values(s.header))
	switch {
	case !usable:
		return refuse(400, "no usable key")
	case key == "":
		return s.run(r, c, nil)
	case s.on("store-down") && s.Fault == "runs without the store":
		return s.run(r, c, nil)
	case s.on("store-down"):
		return refuse(503, "the store of keys is down")
	}
	return s.guard(r, token, key, body, c)
}

// key parses the key header.
func (s *server) key(values []string) (key string, usable bool) {
	key = strings.TrimSpace(strings.Join(values, ","))
	if s.quoted && len(key) > 1 && key[0] == '"' && key[len(key)-1] == '"' {
		key = cmp.Or(key[1:len(key)-1], ",")
	}
	odd := strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) })
	switch {
	case key == "":
		return "", s.keyless || s.Fault == "needs no key"
	case s.Fault == "takes any key":
		return key, true
	}
	return key, len(key) <= 255 && (!odd || !s.strict)
}

// guard makes a command take effect once.
func (s *server) guard(r *http.Request, token, key string, body []byte, c command) reply {
	id := token + " " + key
	if s.Fault == "shares keys among principals" || s.Fault == "replays to strangers" && token == "" {
		id = key
	}
	if s.Fault == "truncates keys" {
		id = id[:min(len(id), len(token)+32)]
	}
	if s.byRoute {
		id += " " + r.URL.Path
	}
	release, claimed := s.claim(id)
	if !claimed && s.Fault == "fails duplicates" {
		return refuse(500, "duplicate key")
	}
	if !claimed {
		return reply{Status: 409, Body: `{"error":"in progress"}`, later: true}
	}
	defer release()
	rec := &record{ID: id, Route: r.URL.Path, Body: s.fingerprint(body, c)}
	if s.Fault == "compares paths as they are sent" {
		rec.Route = r.URL.EscapedPath()
	}
	stored, found := s.look(id, token == "")
	if !found || stored.Expired && (!s.remembers || s.Fault == "forgets at expiry") {
		return s.run(r, c, rec)
	}
	return s.replay(r, c, rec, stored, token)
}

func (s *server) replay(r *http.Request, c command, rec *record, stored record, token string) reply {
	sameRoute, sameBody := stored.Route == rec.Route, stored.Body == rec.Body
	switch {
	case sameRoute && sameBody, sameRoute && s.Fault == "replays to another body", sameBody && s.Fault == "ignores the route":
		stored.Reply.again = !stored.Expired // the second line of defence does not mark replays
		return stored.Reply
	case sameRoute && s.Fault == "runs another body":
		return s.run(r, c, rec)
	}
	mismatch := refuse(s.mismatch, "the key belongs to another request")
	switch s.Fault {
	case "shows the first response":
		mismatch.Body = stored.Reply.Body
	case "shows the token":
		mismatch = refuse(s.mismatch, "the key belongs to another request of "+token)
	case "refuses with 422":
		mismatch.Status = 422
	}
	return mismatch
}

// fingerprint returns the part of a body that requests with one key share.
func (s *server) fingerprint(body []byte, c command) string {
	canonical, _ := json.Marshal(c)
	if s.bytes || s.Fault == "compares bytes" {
		canonical = body
	}
	return string(canonical)
}

// command is the body of a request.
type command map[string]any

// run runs a command, and commits effect and record together.
func (s *server) run(r *http.Request, c command, rec *record) reply {
	s.hold("hold-before")
	if s.on("fail-before") {
		return s.fail(rec, nil)
	}
	if s.Fault == "stops when the client hangs up" && r.Context().Err() != nil {
		return refuse(503, "the client is gone")
	}
	made, got := s.decide(r, c)
	if s.on("fail-after") {
		return s.fail(rec, made)
	}
	switch {
	case rec == nil, s.Fault == "forgets empty responses" && got.Body == "",
		got.Status/100 == 4 && (s.runsRefusedAgain || s.Fault == "forgets refusals"),
		s.Fault == "forgets when the client hangs up" && r.Context().Err() != nil:
		rec = nil
	default:
		rec.Reply = got
	}
	if s.Fault == "saves after the response" || s.Fault == "saves in a second transaction" {
		s.commit(line{Charge: made})
		made = nil
	}
	if s.Fault == "saves after the response" {
		s.hold("hold-after")
		time.AfterFunc(100*time.Millisecond, func() { s.commit(line{Record: rec}) })
		return got
	}
	if s.Fault == "saves in a second transaction" {
		s.hold("hold-after")
	}
	s.commit(line{Charge: made, Record: rec})
	s.hold("hold-after")
	return got
}

// fail answers 5xx. Neither an effect nor a response is left, unless the profile keeps it.
func (s *server) fail(rec *record, made *charge) reply {
	got := refuse(500, "failed")
	if rec != nil && (s.keepsFailures || s.Fault == "keeps failures") {
		rec.Reply = got
		s.commit(line{Record: rec})
	}
	if s.Fault == "saves in a second transaction" || s.Fault == "saves after the response" {
		s.commit(line{Charge: made})
	}
	if s.Fault == "locks the key of a failure" && rec != nil {
		s.commit(line{Lock: rec.ID})
	}
	return got
}

// decide returns the effect of a command, if the business does not refuse it.
func (s *server) decide(r *http.Request, c command) (*charge, reply) {
	amount, _ := c["amount"].(float64)
	switch {
	case r.URL.Path == "/limit":
		s.commit(line{Unlimited: true})
		return nil, reply{Status: 204}
	case amount > 1000 && !s.unlimited():
		return nil, refuse(402, "above the limit")
	}
	made := &charge{ID: s.next(), Amount: amount, Note: fmt.Sprint(c["note"]), Owner: r.Header.Get("Authorization"), Route: r.URL.Path}
	if r.URL.Path == "/quiet" {
		return made, reply{Status: 204}
	}
	body, _ := json.Marshal(map[string]any{"id": made.ID, "amount": made.Amount, "note": made.Note})
	return made, reply{Status: 201, Location: fmt.Sprintf("/charges/%d", made.ID), Body: string(body)}
}

// on reports whether a test has switched something on.
func (s *server) on(name string) bool {
	_, err := os.Stat(filepath.Join(s.Dir, name))
	return err == nil
}

// hold keeps a command as long as a test wants it, and tells the test that it is there.
func (s *server) hold(name string) {
	if !s.on(name) {
		return
	}
	_ = os.WriteFile(filepath.Join(s.Dir, "held"), nil, 0o600)
	for s.on(name) {
		time.Sleep(time.Millisecond)
	}
}
