import { jitter, retryAfter, type Backoff } from './backoff.js';
import { sleep, type Clock } from './clock.js';
import { Deadline, unlessAborted } from './deadline.js';
import { OrdersInterrupted, OrdersProblem, type OperationKey } from './errors.js';
import { NoAnswer, readReply, Refusal, type Reply } from './reply.js';
import type { Success } from './api.gen.js';
import type { IdempotencyRecord } from './models.js';
import type { KeyStore } from './store.js';

/**
 * Returns an access token. It is asked for each attempt, so it should keep the token
 * that it has. `fresh` is true after the service has refused that token: return another
 * one.
 */
export type TokenSource = (ask: {
  fresh: boolean;
  signal: AbortSignal;
}) => string | Promise<string>;

/** What all calls of a client share. */
export interface Settings {
  fetch: typeof fetch;
  token: TokenSource | undefined;
  store: KeyStore;
  clock: Clock;
  random: () => number;
  backoff: Backoff;
  attemptTimeout: number;
}

/** A request, as every attempt sends it. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  success: Success;
  /** Whether the operation takes no token. */
  isPublic: boolean;
  /** The operation and its key, under which names the store has the key, and how to look it up. */
  guarded: (OperationKey & { storedAs: string[]; lookUp: Outgoing }) | undefined;
}

/**
 * Sends a request until the service decides: it retries what can help and cannot do
 * harm.
 *
 * @throws OrdersProblem or OrdersInterrupted.
 */
export class Call {
  readonly #settings: Settings;
  readonly #request: Outgoing;
  readonly #deadline: Deadline;
  #outcomeOpen = false;
  #token: 'kept' | 'fresh' | 'renewed' = 'kept';

  constructor(settings: Settings, request: Outgoing, deadline: Deadline) {
    this.#settings = settings;
    this.#request = request;
    this.#deadline = deadline;
  }

  async send(): Promise<Reply> {
    const { signal } = this.#deadline;
    let last: unknown; // the failure before this one: at the deadline it says more than that time is up
    for (let retries = 0; ;) {
      try {
        return await this.#attempt();
      } catch (failure) {
        if (signal.aborted)
          throw this.#interrupted(this.#deadline.expired ? (last ?? signal.reason) : signal.reason);
        if (this.#renewsToken(failure)) continue;
        if (!this.#mayRetry(failure)) throw await this.#ended(failure);
        last = failure;
        if (!(await this.#wait(failure, retries++))) throw this.#interrupted(failure);
      }
    }
  }

  async #attempt(): Promise<Reply> {
    const { clock, attemptTimeout } = this.#settings;
    const attempt = new Deadline(clock, attemptTimeout, this.#deadline.signal);
    try {
      const headers = await this.#headers(attempt.signal);
      return await this.#exchange(headers, attempt.signal);
    } finally {
      attempt.close();
    }
  }

  async #headers(signal: AbortSignal): Promise<Record<string, string>> {
    const { headers, isPublic } = this.#request;
    const { token } = this.#settings;
    if (!token || isPublic) return headers;
    const fresh = this.#token === 'fresh';
    if (fresh) this.#token = 'renewed';
    const source = Promise.resolve(token({ fresh, signal }));
    return { ...headers, Authorization: `Bearer ${await unlessAborted(source, signal)}` };
  }

  /**
   * Sends the request once. From here on it may take effect, unless the service denies
   * that. The machine may have slept until now: an old key could take effect beside the
   * one that another caller of the operation has got meanwhile.
   */
  async #exchange(headers: Record<string, string>, signal: AbortSignal): Promise<Reply> {
    const { method, url, body, success, guarded } = this.#request;
    const changes = method !== 'GET';
    this.#deadline.check();
    signal.throwIfAborted();
    try {
      const init = {
        method,
        headers,
        signal,
        redirect: 'manual',
        credentials: 'omit',
        cache: 'no-store',
      } as const;
      const response = await this.#settings.fetch(
        url,
        body === undefined ? init : { ...init, body },
      );
      return await readReply(response, { success, key: guarded?.key });
    } catch (failure) {
      this.#outcomeOpen ||=
        changes && (failure instanceof Refusal ? failure.leavesOutcomeOpen : true);
      if (failure instanceof Refusal || failure instanceof NoAnswer) throw failure;
      throw new NoAnswer(failure instanceof Error ? failure.message : String(failure), {
        cause: failure,
      });
    }
  }

  /** Reports whether the next attempt asks for a fresh token. One call does so once. */
  #renewsToken(failure: unknown): boolean {
    const refused = failure instanceof Refusal && failure.document.status === 401;
    if (!refused || !this.#settings.token || this.#request.isPublic || this.#token !== 'kept')
      return false;
    this.#token = 'fresh';
    return true;
  }

  /**
   * Reports whether to send the request again. The service knows best. Where it said
   * nothing, only a request that cannot take effect twice is repeated.
   */
  #mayRetry(failure: unknown): boolean {
    if (failure instanceof Refusal) return failure.document.retryable === true;
    return (
      failure instanceof NoAnswer && (this.#request.method === 'GET' || !!this.#request.guarded)
    );
  }

  /**
   * Waits before a retry. It reports false where the deadline leaves no time for that.
   */
  async #wait(failure: unknown, retries: number): Promise<boolean> {
    const { clock, random, backoff } = this.#settings;
    const answered = failure instanceof Refusal || failure instanceof NoAnswer;
    const header = (answered && failure.headers?.get('Retry-After')) || null;
    const wait = retryAfter(header, clock.now()) + jitter(backoff, retries, random);
    if (wait >= this.#deadline.remaining()) return false;
    await sleep(clock, wait, this.#deadline.signal).catch(() => {}); // the next attempt sees it too
    return true;
  }

  /**
   * Returns the error for a failure that no retry can help. It does with the key as
   * `next_key` of a refusal says. Every other value, also one of a newer service, keeps the
   * key.
   */
  async #ended(failure: unknown): Promise<Error> {
    if (!(failure instanceof Refusal)) return this.#interrupted(failure);
    const nextKey = failure.document.next_key;
    return new OrdersProblem(failure.document, {
      operation: this.#request.guarded,
      outcomeUnknown: this.#outcomeOpen && !failure.resolvesOutcome,
      record: nextKey === 'look_up' ? await this.#lookUp() : undefined,
      cause: nextKey === 'new' ? await this.#dropKey() : undefined,
    });
  }

  #interrupted(cause: unknown): OrdersInterrupted {
    return new OrdersInterrupted(cause, {
      operation: this.#request.guarded,
      outcomeUnknown: this.#outcomeOpen,
    });
  }

  /**
   * Drops the key. It returns why the store could not: then the next call with the operation
   * gets the same refusal.
   */
  async #dropKey(): Promise<unknown> {
    const { storedAs = [], key } = this.#request.guarded ?? {};
    const forget = async () => {
      for (const name of storedAs) await this.#settings.store.forget(name, key);
    };
    return unlessAborted(forget(), this.#deadline.signal).catch((cause: unknown) => cause);
  }

  /** Returns what the service knows about a key that another request has. */
  async #lookUp(): Promise<IdempotencyRecord | undefined> {
    const { guarded } = this.#request;
    if (!guarded) return undefined;
    return new Call(this.#settings, guarded.lookUp, this.#deadline).send().then(
      ({ data }) => data as IdempotencyRecord,
      () => undefined,
    );
  }
}
