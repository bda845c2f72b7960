import { successes, type Success } from './api.gen.js';
import type { Backoff } from './backoff.js';
import { Call, type Outgoing, type Settings, type TokenSource } from './call.js';
import { systemClock, type Clock } from './clock.js';
import type { Data, Input, Method, OperationAt, PathOf } from './contract.js';
import { Deadline, unlessAborted } from './deadline.js';
import { OrdersInterrupted } from './errors.js';
import type { Reply } from './reply.js';
import { urlOf, type RequestInput } from './request.js';
import { commandResultOf, resultOf, type CommandResult, type Result } from './result.js';
import type { KeyStore } from './store.js';
import { WebStore } from './web-store.js';

/**
 * How long after it was read a key may be sent. Another caller of the operation may forget
 * the key meanwhile, and the service stores a refusal for six hours.
 */
const keyAge = 6 * 60 * 60 * 1000;

/** How a client works. Only `baseUrl` has no default. */
export interface ClientOptions {
  /**
   * The address of the service, such as `https://orders.example.com`: https, or http on
   * loopback, because tokens are sent there.
   */
  baseUrl: string | URL;
  /** Returns an access token. Without it, requests have none. */
  token?: TokenSource;
  /**
   * Keeps the key of each operation. The default keeps keys in IndexedDB in browsers, and
   * in files below the home directory in Node.js.
   */
  store?: KeyStore;
  /**
   * Whom the tokens belong to, such as the ID of the customer. It is needed where
   * several callers share a store: one name is another operation for each of them.
   */
  principal?: string;
  /**
   * Names the service in the store. One name at several addresses is one service: set it
   * before the address changes. The default is the address: the scheme, the host in lower
   * case, the port unless it is the default, and the path. `localhost` is `127.0.0.1`.
   */
  service?: string;
  /**
   * How long an operation may take with all its attempts, in milliseconds: 30 000 by
   * default.
   */
  deadline?: number;
  /** How long an attempt may take, in milliseconds: 10 000 by default. */
  attemptTimeout?: number;
  /** The random waits between attempts: up to 100 ms at first, and up to 2 s later. */
  backoff?: Backoff;
  /** Sends requests: the `fetch` of the platform by default. */
  fetch?: typeof fetch;
  /** Makes the key of a new operation: a random UUID by default. */
  newKey?: () => string;
  /** The time. Tests replace it. */
  clock?: Clock;
  /** Returns a random number from 0 to 1. Tests replace it. */
  random?: () => number;
}

/** How one call differs from the others of its client. */
export interface CallOptions {
  /** Ends the call. The operation may take effect nevertheless. */
  signal?: AbortSignal;
  /**
   * How long the operation may take with all its attempts, in milliseconds. `Infinity`
   * is no limit. An operation with a key may take six hours at most.
   */
  deadline?: number;
}

/** What distinguishes the requests of a few operations. */
interface Extra {
  headers?: Record<string, string>;
  /** Whether the operation takes no token. */
  isPublic?: boolean;
}

/** Returns a URL that keeps tokens from the network: https, or http on loopback. */
function safe(url: URL): URL {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)) return url;
  throw new TypeError('baseUrl must be https, or http on loopback');
}

/** Returns a URL in the one spelling that names a service. */
function addressOf({ protocol, hostname, port, pathname }: URL): string {
  const host = /^(localhost|\[::1\])$/.test(hostname) ? '127.0.0.1' : hostname.replace(/\.$/, '');
  return `${protocol}//${host}${port && `:${port}`}${pathname.replace(/\/+$/, '')}`;
}

/**
 * Does what needs the key store, which may fail, or stay silent for ever. Nothing is sent
 * yet.
 *
 * @throws OrdersInterrupted
 */
async function reach<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await unlessAborted(work(), signal);
  } catch (cause) {
    throw new OrdersInterrupted(cause, { operation: undefined, outcomeUnknown: false });
  }
}

/** Turns calls of operations into requests with a key, a token and a deadline. */
export class Transport {
  readonly settings: Settings;

  readonly #base: string;
  /** The names of the service in stores: that of version 0.1, and the present one. */
  readonly #services: Set<string>;
  readonly #principal: string;
  readonly #deadline: number;
  readonly #newKey: () => string;

  constructor(options: ClientOptions) {
    const url = safe(new URL(options.baseUrl));
    this.#base = url.href.replace(/\/+$/, '');
    this.#services = new Set([this.#base, options.service || addressOf(url)]);
    this.#principal = options.principal ?? '';
    this.#deadline = options.deadline ?? 30_000;
    this.#newKey = options.newKey ?? (() => crypto.randomUUID());
    this.settings = {
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      token: options.token,
      store: options.store ?? new WebStore(),
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
      backoff: options.backoff ?? { base: 100, cap: 2_000 },
      attemptTimeout: options.attemptTimeout ?? 10_000,
    };
  }

  /** Returns a deadline for a call. The caller closes it. */
  deadline(options: CallOptions = {}, longest = Infinity): Deadline {
    const milliseconds = Math.min(options.deadline ?? this.#deadline, longest);
    return new Deadline(this.settings.clock, milliseconds, options.signal);
  }

  /** Sends a request that needs no key. */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<OperationAt<M, P>>,
    options?: CallOptions,
    extra: Extra = {},
  ): Promise<Result<Data<OperationAt<M, P>>>> {
    const outgoing = this.#outgoing(method, path, input, extra);
    return resultOf(await this.#send(this.deadline(options), async () => outgoing));
  }

  /** Sends a request under the key of an operation. */
  async command<P extends PathOf<'post'>>(
    operation: string,
    path: P,
    input: Input<OperationAt<'post', P>>,
    options?: CallOptions,
  ): Promise<CommandResult<Data<OperationAt<'post', P>>>> {
    const storedAs = this.#storedAs(operation);
    const outgoing = this.#outgoing('post', path, input, {});
    let key = '';
    const reply = await this.#send(this.deadline(options, keyAge), async () => {
      key = await this.#keyOf(storedAs);
      const headers = { ...outgoing.headers, 'Idempotency-Key': key };
      const lookUp = this.#outgoing('get', '/idempotency-keys/{key}', { path: { key } }, {});
      return { ...outgoing, headers, guarded: { operation, key, storedAs, lookUp } };
    });
    return commandResultOf(reply, key);
  }

  /** Drops the key of an operation. */
  async forget(operation: string, options?: CallOptions): Promise<void> {
    const names = this.#storedAs(operation);
    const deadline = this.deadline(options);
    try {
      await reach(deadline.signal, async () => {
        for (const name of names) await this.settings.store.forget(name);
      });
    } finally {
      deadline.close();
    }
  }

  /**
   * Returns the key of an operation. Under each further name it has the key of the former
   * one: that may have been sent, and programs with the last version still send it.
   */
  async #keyOf(storedAs: string[]): Promise<string> {
    let key = this.#newKey();
    for (const name of storedAs) key = await this.settings.store.getOrCreate(name, key);
    return key;
  }

  async #send(deadline: Deadline, prepare: () => Promise<Outgoing>): Promise<Reply> {
    try {
      const outgoing = await reach(deadline.signal, prepare);
      return await new Call(this.settings, outgoing, deadline).send();
    } finally {
      deadline.close();
    }
  }

  #outgoing(
    method: Method,
    path: string,
    input: unknown,
    { headers = {}, isPublic = false }: Extra,
  ): Outgoing {
    const request = input as RequestInput;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    return {
      method: method.toUpperCase(),
      url: urlOf(this.#base, path, request),
      headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
      body,
      success: successes[`${method} ${path}`] as Success,
      isPublic,
      guarded: undefined,
    };
  }

  /** Returns the names of an operation in the store, the former one first. */
  #storedAs(operation: string): string[] {
    if (typeof operation !== 'string' || operation === '')
      throw new TypeError('an operation needs a name, such as checkout-4711/pay');
    return [...this.#services].map((service) =>
      JSON.stringify([service, this.#principal, operation]),
    );
  }
}
