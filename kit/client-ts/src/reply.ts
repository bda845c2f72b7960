import type { Success } from './api.gen.js';
import type { Schemas } from './contract.js';

type ProblemDocument = Schemas['Problem'];

/** An attempt that ended without an answer of the service: perhaps a proxy answered. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** The headers of the answer, if there was one. */
  readonly headers: Headers | undefined;

  constructor(message: string, { cause, headers }: { cause?: unknown; headers?: Headers } = {}) {
    super(message, { cause });
    this.headers = headers;
  }
}

/** A refusal by the service. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly document: ProblemDocument;
  readonly headers: Headers;

  constructor(document: ProblemDocument, headers: Headers) {
    super(`${document.code}: ${document.detail}`);
    this.document = document;
    this.headers = headers;
  }

  /** Whether no attempt of the request has taken effect, or still may. */
  get resolvesOutcome(): boolean {
    return resolves(this.document);
  }

  /** Whether the request may have taken effect, or still may. */
  get leavesOutcomeOpen(): boolean {
    const { code, status } = this.document;
    return code === 'idempotency_in_progress' || (status >= 500 && code !== 'unavailable');
  }
}

/** A successful answer of the service. */
export interface Reply {
  data: unknown;
  status: number;
  headers: Headers;
}

/** What distinguishes the answer of the service to a request from one of a proxy. */
export interface Expected {
  success: Success;
  /** The key that was sent, which the answer echoes. */
  key: string | undefined;
}

/**
 * Reads an answer to its end.
 *
 * @throws Refusal, or NoAnswer where the answer broke off or is not that of the service to
 * this request.
 */
export async function readReply(response: Response, expected: Expected): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text().catch((cause: unknown) => {
    throw new NoAnswer('the answer broke off', { cause });
  });
  const document = problemIn(response, text);
  checkEcho(response, expected.key, document);
  if (document) throw new Refusal(document, headers);
  if (!expected.success.statuses.includes(status)) {
    const summary = response.type === 'opaqueredirect' ? 'a redirect' : `status ${status}`;
    throw new NoAnswer(`${summary} is none of this operation`, { headers });
  }
  return { data: read(text, headers, expected.success), status, headers };
}

/**
 * Checks that an answer echoes the key. A refusal that precedes the key, such as 401 or 429,
 * has no echo, and decides nothing about the key.
 */
function checkEcho(
  { status, headers }: Response,
  key: string | undefined,
  document: ProblemDocument | undefined,
): void {
  const echo = headers.get('Idempotency-Key');
  if (key === undefined || echo === bare(key)) return;
  if (!echo && document && !resolves(document)) return;
  throw new NoAnswer(`status ${status} without the echo of the key`, { headers });
}

/** Returns a key as the service echoes it: without the quotes that a header may have. */
function bare(key: string): string {
  return key.replace(/^[ "]+|[ "]+$/g, '');
}

/** Reports whether a refusal says that no attempt has taken effect, or still may. */
function resolves({ next_key: nextKey }: ProblemDocument): boolean {
  return nextKey === 'new' || nextKey === 'look_up';
}

/** Returns the problem document of the service in an answer. Gateways have other members. */
function problemIn({ status, headers }: Response, text: string): ProblemDocument | undefined {
  const media = headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  if (status < 400 || media !== 'application/problem+json') return undefined;
  const document = parse(text, headers) as Partial<ProblemDocument> | null;
  const isOurs =
    typeof document?.code === 'string' &&
    document.code !== '' &&
    typeof document.retryable === 'boolean' &&
    (document.status ?? status) === status;
  return isOurs ? ({ status, ...document } as ProblemDocument) : undefined;
}

/** Returns what a success has in its body. */
function read(text: string, headers: Headers, { media, member, type }: Success): unknown {
  if (media === '') return undefined;
  if (media !== 'application/json') {
    if (media !== '*/*' && !headers.get('Content-Type')?.startsWith(media))
      throw new NoAnswer(`the answer is no ${media}`, { headers });
    return text;
  }
  const data = parse(text, headers);
  const value = member === undefined ? data : (data as Record<string, unknown> | null)?.[member];
  if (typeOf(value) !== (type ?? 'object'))
    throw new NoAnswer(`the answer has no ${member ?? 'object'}`, { headers });
  return data;
}

/** Returns the JSON type of a value. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (Number.isSafeInteger(value)) return 'integer';
  return value === null ? 'null' : typeof value;
}

function parse(text: string, headers: Headers): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NoAnswer('the answer is no JSON', { cause, headers });
  }
}
