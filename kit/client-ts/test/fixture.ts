// The clock, the service and the client of the tests. No test waits for real time.
import { MemoryStore, OrdersClient, type Clock, type ClientOptions } from '@example/orders';

/** A clock that goes on only when nothing else is left to do. */
export class FakeClock implements Clock {
  #now = Date.parse('2026-11-22T12:00:00Z');
  readonly #timers = new Map<object, { at: number; call: () => void }>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, call: () => void): () => void {
    const timer = {};
    this.#timers.set(timer, { at: this.#now + milliseconds, call });
    return () => void this.#timers.delete(timer);
  }

  /** Puts the machine to sleep: the wall clock goes on, and timers do not. */
  suspend(milliseconds: number): void {
    this.#now += milliseconds;
    for (const timer of this.#timers.values()) timer.at += milliseconds;
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Returns what a promise returns. The clock jumps from timer to timer meanwhile. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve)); // all promises go as far as they can
      if (settled) return promise;
      this.#jump();
    }
  }

  #jump(): void {
    const [next] = [...this.#timers].sort(([, a], [, b]) => a.at - b.at);
    if (!next) throw new Error('the test waits for nothing');
    const [timer, { at, call }] = next;
    this.#timers.delete(timer);
    this.#now = at;
    call();
  }
}

/** A request as the service sees it. */
export interface Sent {
  at: number;
  method: string;
  url: string;
  headers: Headers;
  body: string | undefined;
}

/** What happens to one request. */
export type Answer = (request: Sent, signal: AbortSignal) => Response | Promise<Response>;

/** A service that answers each request as the test says, the last answer for ever. */
export class FakeService {
  readonly clock = new FakeClock();
  readonly sent: Sent[] = [];
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request: Sent = {
      at: this.clock.now(),
      method: init?.method ?? 'GET',
      url: String(input),
      headers: new Headers(init?.headers),
      body: init?.body as string | undefined,
    };
    const answer = this.#answers[Math.min(this.sent.push(request), this.#answers.length) - 1];
    if (!answer || !init?.signal) throw new Error('the test expects no request');
    if (init.redirect !== 'manual') throw new Error('a redirect would carry the token away');
    return answer(request, init.signal);
  };

  /** Returns a client of the service. Its waits are as long as they can be. */
  client(options: Partial<ClientOptions> = {}): OrdersClient {
    return new OrdersClient({
      baseUrl: 'https://orders.example.com/',
      store: new MemoryStore(),
      fetch: this.fetch,
      clock: this.clock,
      random: () => 1,
      ...options,
    });
  }

  /** Returns the keys that were sent, in order. */
  get keys(): (string | null)[] {
    return this.sent.map(({ headers }) => headers.get('Idempotency-Key'));
  }

  /** Returns the milliseconds between one request and the next. */
  get waits(): number[] {
    return this.sent.slice(1).map(({ at }, i) => at - (this.sent[i]?.at ?? 0));
  }
}

/** Returns the header with which the service echoes a key. */
export function echoOf({ headers }: Sent): Record<string, string> {
  const key = headers.get('Idempotency-Key');
  return key === null ? {} : { 'Idempotency-Key': key.replaceAll('"', '') };
}

/** The commands that create something answer 201. */
const creates = /\/(orders|charge|credit|stock)$/;

/** Answers with the success of an operation: it has a body. */
export function success(data: unknown, headers: HeadersInit = {}): Answer {
  return (sent) =>
    new Response(JSON.stringify(data), {
      status: sent.method === 'POST' && creates.test(sent.url) ? 201 : 200,
      headers: { 'Content-Type': 'application/json', ...echoOf(sent), ...headers },
    });
}

/** Answers with a problem document. */
export function problem(
  status: number,
  code: string,
  more: object = {},
  headers: HeadersInit = {},
): Answer {
  const document = {
    status,
    code,
    title: 'Refused',
    detail: 'because of the test',
    retryable: false,
    next_key: null,
    request_id: 'r-1',
    ...more,
  };
  const precedesKey = [401, 429].includes(status);
  return (sent) =>
    new Response(JSON.stringify(document), {
      status,
      headers: {
        'Content-Type': 'application/problem+json',
        ...(precedesKey ? {} : echoOf(sent)),
        ...headers,
      },
    });
}

/** Answers with a refusal that is stored under the key. */
export function storedRefusal(status: number, code: string): Answer {
  return problem(status, code, { next_key: 'new' }, { 'Idempotency-Result': 'created' });
}

/** Answers with a problem that a retry can solve. */
export function retryable(status: number, code: string, headers: HeadersInit = {}): Answer {
  return problem(status, code, { retryable: true, next_key: 'same' }, headers);
}

/** Loses the request or its answer: the client cannot know which. */
export const lost: Answer = () => {
  throw new TypeError('fetch failed');
};

/** Breaks off in the middle of the body. */
export const cut: Answer = () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":')),
  });
  const broken = body.pipeThrough(
    new TransformStream({
      transform: (_, controller) => controller.error(new TypeError('terminated')),
    }),
  );
  return new Response(broken, { status: 200, headers: { 'Content-Type': 'application/json' } });
};

/** Is a gateway that does not reach the service. */
export const badGateway: Answer = () =>
  new Response('<h1>502</h1>', { status: 502, headers: { 'Content-Type': 'text/html' } });

/** Never answers. */
export const silence: Answer = (_, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
