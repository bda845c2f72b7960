package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"golang.org/x/time/rate"
)

// The issuer's keys are fetched every five minutes (AUTH-5), and in between when a
// token names a key that is not known, once in ten seconds at the most, so that forged
// tokens cannot turn us against the issuer.
const (
	keyRefresh     = 5 * time.Minute
	unknownKeyPace = 10 * time.Second
	keyTimeout     = 2 * time.Second
	maxKeySet      = 1 << 20
)

// keySet is the issuer's keys: Keyfunc asks the issuer about a key that it does not
// know, present looks only at what is here.
type keySet struct {
	keyfunc.Keyfunc
	present jwkset.Storage
}

// holds tells whether the set still has this key under this name.
func (s keySet) holds(ctx context.Context, kid string, key publicKey) bool {
	found, err := s.present.KeyRead(ctx, kid)
	return err == nil && key.Equal(found.Key())
}

// fetchKeys sets the library up against its defaults: the first answer may fail, one
// unknown kid does not block the next refresh for minutes, keys for encryption do not
// verify, and answers are bounded.
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
		RefreshUnknownKID: rate.NewLimiter(rate.Every(unknownKeyPace), 1),
	})
	if err != nil {
		return keySet{}, err
	}
	keys, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: storage, UseWhitelist: []jwkset.USE{"", jwkset.UseSig}})
	return keySet{keys, remote}, err
}

// boundedTransport refuses key sets that are too large to be one. It gives each fetch
// its own time: of the time of the request that asked for it, the wait for its turn may
// have left next to nothing.
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

// Ready tells why no token can be verified, or nil. While there are no keys it asks
// the issuer again.
func (v *Verifier) Ready(ctx context.Context) error {
	if v.hasKeys(ctx) {
		return nil
	}
	_, _ = v.keys.Storage().KeyRead(ctx, "") // no key has this name, so the set is fetched
	if v.hasKeys(ctx) {
		return nil
	}
	return errors.New("the issuer's signing keys are not loaded")
}

func (v *Verifier) hasKeys(ctx context.Context) bool {
	keys, err := v.keys.present.KeyReadAll(ctx)
	return err == nil && len(keys) > 0
}
