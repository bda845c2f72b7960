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
	"golang.org/x/time/rate"
)

// The issuer's keys are fetched every five minutes (AUTH-5). A token with an unknown
// key makes us fetch them in between, but at most every ten seconds, so that forged
// tokens cannot be used to flood the issuer.
const (
	keyRefresh         = 5 * time.Minute
	unknownKeyInterval = 10 * time.Second
	keyTimeout         = 2 * time.Second
	maxKeySet          = 1 << 20
)

// keySet holds the issuer's keys. It is a custom [jwkset.Storage], because the
// library's follows redirects, lets one malformed key spoil the set, replaces good keys
// by an empty set, and trusts its keys for ever.
type keySet struct {
	*jwkset.MemoryJWKSet
	cfg    Config
	client http.Client
	// fetching serialises requests to the issuer.
	fetching sync.Mutex
	unknown  *rate.Limiter
	// fetched is when the issuer was last asked for the keys that it gave. It is nil
	// before that.
	fetched atomic.Pointer[time.Time]
}

// fetchKeys returns the issuer's keys and keeps them fresh until ctx ends. The first
// fetch may fail.
func fetchKeys(ctx context.Context, cfg Config) *keySet {
	keys := &keySet{
		MemoryJWKSet: jwkset.NewMemoryStorage(), cfg: cfg,
		client:  http.Client{CheckRedirect: noRedirect},
		unknown: rate.NewLimiter(rate.Every(unknownKeyInterval), 1),
	}
	keys.fetch(ctx)
	go keys.keepFresh(ctx)
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
			s.fetching.Lock()
			s.fetch(ctx)
			s.fetching.Unlock()
		}
	}
}

// KeyRead implements [jwkset.Storage] for keyfunc. It asks the issuer for a key that is
// not known.
func (s *keySet) KeyRead(ctx context.Context, kid string) (jwkset.JWK, error) {
	if key, err := s.known(ctx, kid); err == nil {
		return key, nil
	}
	s.refetch(ctx)
	return s.known(ctx, kid)
}

// known returns a key without asking the issuer.
func (s *keySet) known(ctx context.Context, kid string) (jwkset.JWK, error) {
	if err := s.distrust(); err != nil {
		return jwkset.JWK{}, err
	}
	return s.MemoryJWKSet.KeyRead(ctx, kid)
}

// distrust returns why no key can be trusted, or nil.
func (s *keySet) distrust() error {
	fetched := s.fetched.Load()
	switch {
	case fetched == nil:
		return errors.New("the issuer's signing keys are not loaded")
	case s.cfg.Now().Sub(*fetched) > s.cfg.MaxKeyAge:
		return fmt.Errorf("the issuer's signing keys are older than %s and no longer trusted", s.cfg.MaxKeyAge)
	}
	return nil
}

// refetch fetches the keys, unless somebody did so a moment ago.
func (s *keySet) refetch(ctx context.Context) {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	if s.unknown.AllowN(s.cfg.Now(), 1) {
		s.fetch(context.WithoutCancel(ctx)) // others also use the keys
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
		err = s.KeyReplaceAll(ctx, keys)
	}
	if err == nil {
		s.fetched.Store(&asked)
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

// download returns the usable keys that the issuer publishes, at least one.
func (s *keySet) download(ctx context.Context) ([]jwkset.JWK, error) {
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
	return usableKeys(set)
}

// withoutURL returns a failed request's cause. The error itself has the URL, whose
// query may contain a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
