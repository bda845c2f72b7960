import type { Schemas } from './contract.js';

type ProblemDocument = Schemas['Problem'];

/** An attempt that ended without an answer of the service. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** The headers of a gateway that answered instead. */
  readonly headers: Headers | undefined;

  constructor(message: string, { cause, headers }: { cause?: unknown; headers?: Headers } = {}) {
    super(message, { cause });
    this.headers = headers;
  }
}

/**
 * An answer that the service does not give, such as the redirect of a proxy. A retry
 * cannot help.
 */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
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
    const { next_key: nextKey } = this.document;
    return nextKey === 'new' || nextKey === 'look_up';
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

/**
 * Reads an answer to its end.
 *
 * @throws Refusal, UnexpectedAnswer, or NoAnswer where the answer broke off or is that
 * of a gateway which did not reach the service.
 */
export async function readReply(response: Response, expected: 'json' | 'text'): Promise<Reply> {
  const { status, headers } = response;
  const text = await response.text().catch((cause: unknown) => {
    throw new NoAnswer('the answer broke off', { cause });
  });
  if (response.ok) {
    const data = expected === 'text' ? text : status === 204 ? undefined : parse(text);
    return { data, status, headers };
  }
  if (headers.get('Content-Type')?.startsWith('application/problem+json')) {
    const document = parse(text) as Partial<ProblemDocument> | null;
    if (document?.code) throw new Refusal(document as ProblemDocument, headers);
  }
  const summary =
    response.type === 'opaqueredirect'
      ? 'a redirect'
      : `status ${status} without a problem document`;
  throw status >= 500 ? new NoAnswer(summary, { headers }) : new UnexpectedAnswer(summary);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NoAnswer('the answer is no JSON', { cause });
  }
}
