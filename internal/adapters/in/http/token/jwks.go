package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"golang.org/x/time/rate"
)

// The issuer keys are fetched every five minutes (AUTH-5). A token with an unknown key
// makes us fetch them in between, but at most every ten seconds, so that forged tokens
// cannot be used to flood the issuer. The issuer may take long, because the fetch runs
// in the background. A request that needs it waits less.
const (
	keyRefresh         = 5 * time.Minute
	unknownKeyInterval = 10 * time.Second
	keyTimeout         = 10 * time.Second
	keyPatience        = 2 * time.Second
	maxKeySet          = 1 << 20
)

// keySet holds the issuer keys. The libraries' sets follow redirects, let one malformed
// key spoil the set, replace good keys by an empty set, trust them for ever, and know
// one key for each kid.
type keySet struct {
	cfg     Config
	client  http.Client
	unknown *rate.Limiter
	// fetched is nil until the issuer has published a usable key.
	fetched atomic.Pointer[fetchedKeys]
	// mu protects ended, which is closed when the latest fetch has ended.
	mu    sync.Mutex
	ended chan struct{}
	// unused are the unusable keys of the latest fetch.
	unused map[UnusedKey]bool
}

// fetchedKeys are the issuer's usable keys.
type fetchedKeys struct {
	count int
	// byName has a library set for each name, because the library looks keys up by kid
	// alone and returns the first.
	byName map[keyName]keyfunc.Keyfunc
	// asked is when the issuer was asked for them.
	asked time.Time
}

// fetchKeys returns the issuer keys and keeps them fresh until ctx ends. The first
// fetch may fail, and goes on in the background if it takes long.
func fetchKeys(ctx context.Context, cfg Config) *keySet {
	keys := newKeySet(cfg)
	keys.start(ctx, always)
	keys.wait(ctx)
	go keys.keepFresh(ctx)
	return keys
}

func newKeySet(cfg Config) *keySet {
	keys := &keySet{
		cfg: cfg, client: http.Client{CheckRedirect: noRedirect},
		unknown: rate.NewLimiter(rate.Every(unknownKeyInterval), 1), ended: make(chan struct{}),
	}
	close(keys.ended)
	return keys
}

// noRedirect makes a client return a redirect as a response. A redirect target is not
// the issuer: an open redirect there would be enough to sign tokens here.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (s *keySet) keepFresh(ctx context.Context) {
	ticker := time.NewTicker(keyRefresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.start(ctx, always)
		}
	}
}

// find returns the keys with a name, or nil. It asks the issuer if the name is unknown.
func (s *keySet) find(ctx context.Context, name keyName) keyfunc.Keyfunc {
	if keys := s.known(name); keys != nil {
		return keys
	}
	s.refetch(ctx)
	return s.known(name)
}

// known returns the keys with a name that were fetched, or nil.
func (s *keySet) known(name keyName) keyfunc.Keyfunc {
	if s.distrust() != nil {
		return nil
	}
	return s.fetched.Load().byName[name]
}

// distrust returns why no key can be trusted, or nil.
func (s *keySet) distrust() error {
	fetched := s.fetched.Load()
	switch {
	case fetched == nil:
		return errors.New("the issuer's signing keys are not loaded")
	case s.cfg.Now().Sub(fetched.asked) > s.cfg.MaxKeyAge:
		return fmt.Errorf("the issuer's signing keys are older than %s and no longer trusted", s.cfg.MaxKeyAge)
	}
	return nil
}

// refetch fetches the keys, unless that was done a moment ago, and waits for them for a
// while. Other requests also use them, so the fetch outlives ctx.
func (s *keySet) refetch(ctx context.Context) {
	s.start(context.WithoutCancel(ctx), func() bool { return s.unknown.AllowN(s.cfg.Now(), 1) })
	s.wait(ctx)
}

func always() bool { return true }

// start starts a fetch if it is allowed and no fetch is under way.
func (s *keySet) start(ctx context.Context, allowed func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		return
	}
	if !allowed() {
		return
	}
	ended := make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		s.fetch(ctx)
	}()
}

// wait waits until no fetch is under way, for [keyPatience] at most.
func (s *keySet) wait(ctx context.Context) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keyPatience)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// fetch replaces the keys by those that the issuer publishes now. If it fails, the old
// ones stay in use until they are too old.
func (s *keySet) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	asked := s.cfg.Now()
	keys, err := s.download(ctx)
	if err == nil {
		s.fetched.Store(&fetchedKeys{len(keys), groupByName(ctx, keys), asked})
		return
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the process stops: the issuer has not failed
	}
	if reason := s.distrust(); reason != nil {
		err = fmt.Errorf("%w; %w", err, reason)
	}
	s.cfg.OnRefreshError(err)
}

// groupByName returns a set for each name. Keys may share one.
func groupByName(ctx context.Context, keys []publicKey) map[keyName]keyfunc.Keyfunc {
	byName := map[keyName]keyfunc.Keyfunc{}
	for _, key := range keys {
		if byName[key.keyName] == nil {
			// It only fails for a set that has no storage.
			byName[key.keyName], _ = keyfunc.New(keyfunc.Options{Storage: jwkset.NewMemoryStorage()})
		}
		_ = byName[key.keyName].Storage().KeyWrite(ctx, key.jwk) // memory accepts all
	}
	return byName
}

// download returns the usable keys that the issuer publishes, at least one.
func (s *keySet) download(ctx context.Context) ([]publicKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.JWKSURL, http.NoBody)
	if err != nil {
		return nil, withoutURL(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	set, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxKeySet))
	if err != nil {
		return nil, err
	}
	keys, unused, err := usableKeys(set)
	if len(keys)+len(unused) > 0 {
		s.report(unused)
	}
	return keys, err
}

// report reports the keys that were not unusable in the fetch before: a key set changes
// seldom, and is fetched often.
func (s *keySet) report(unused []UnusedKey) {
	before := s.unused
	s.unused = map[UnusedKey]bool{}
	for _, key := range unused {
		if !before[key] && !s.unused[key] {
			s.cfg.OnUnusedKey(key)
		}
		s.unused[key] = true
	}
}

// withoutURL returns a failed request's cause. The error itself has the URL, which may
// contain a secret in the query.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
