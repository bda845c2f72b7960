package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
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

// keySet holds the issuer's keys. Keyfunc asks the issuer for a key that it does not
// know; cached never does.
type keySet struct {
	keyfunc.Keyfunc
	cached jwkset.Storage
}

// has reports whether the set still has this key under this kid.
func (s keySet) has(ctx context.Context, kid string, key publicKey) bool {
	found, err := s.cached.KeyRead(ctx, kid)
	return err == nil && key.Equal(found.Key())
}

// loaded reports whether the set has any key.
func (s keySet) loaded(ctx context.Context) bool {
	keys, err := s.cached.KeyReadAll(ctx)
	return err == nil && len(keys) > 0
}

// fetch asks the issuer for its keys. No key has an empty kid, so reading one makes the
// library fetch the set.
func (s keySet) fetch(ctx context.Context) { _, _ = s.Storage().KeyRead(ctx, "") }

// fetchKeys overrides defaults of the library: the first fetch may fail, one unknown
// kid does not block the next refresh for minutes, keys for encryption do not verify,
// and responses are bounded.
func fetchKeys(ctx context.Context, cfg TokenConfig) (keySet, error) {
	remote, err := jwkset.NewStorageFromHTTP(cfg.JWKSURL, jwkset.HTTPClientStorageOptions{
		Client:                    &http.Client{Transport: boundedTransport{http.DefaultTransport}},
		Ctx:                       ctx,
		HTTPTimeout:               keyTimeout,
		NoErrorReturnFirstHTTPReq: true,
		RefreshInterval:           keyRefresh,
		RefreshErrorHandler:       func(_ context.Context, err error) { cfg.OnRefreshError(err) },
	})
	if err != nil {
		return keySet{}, err
	}
	storage, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs:          map[string]jwkset.Storage{cfg.JWKSURL: remote},
		RateLimitWaitMax:  keyTimeout,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(unknownKeyInterval), 1),
	})
	if err != nil {
		return keySet{}, err
	}
	keys, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: storage, UseWhitelist: []jwkset.USE{"", jwkset.UseSig}})
	return keySet{keys, remote}, err
}

// boundedTransport limits the size of a key set. Each fetch gets a timeout of its own:
// the request that triggered it may have spent most of its time waiting for the rate
// limit.
type boundedTransport struct{ http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keyTimeout)
	resp, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = boundedBody{http.MaxBytesReader(nil, resp.Body, maxKeySet), cancel}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
