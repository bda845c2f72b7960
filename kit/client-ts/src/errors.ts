import type { Schemas } from './contract.js';
import type { IdempotencyRecord } from './models.js';

type ProblemDocument = Schemas['Problem'];

/**
 * A code of docs/problems.md. Codes that this version of the client does not know may
 * come.
 */
export type ProblemCode = Schemas['ProblemCode'];

/** What the client knows about an operation that takes a key. */
export interface OperationKey {
  /** The name that the caller gave to the operation. */
  readonly operation: string;
  /** The Idempotency-Key that was sent. */
  readonly key: string;
}

/** What an error knows beside its cause. */
interface Context {
  operation: OperationKey | undefined;
  outcomeUnknown: boolean;
}

/** What an error knows about a refusal. */
interface Refused extends Context {
  record: IdempotencyRecord | undefined;
  /** Why the store did not drop the key. */
  cause: unknown;
}

/** The service refused a request, with a problem document (RFC 9457). */
export class OrdersProblem extends Error {
  override readonly name = 'OrdersProblem';

  /** The stable code to branch on. */
  readonly code: ProblemCode;
  /** The HTTP status. */
  readonly status: number;
  /** A summary of the kind of problem. */
  readonly title: string;
  /** What is wrong with this request, and what to do. */
  readonly detail: string;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  /**
   * Which key another attempt needs, where the operation takes one: `same`, `new` or
   * `look_up`. The client has done so already.
   */
  readonly nextKey: string | null;
  /** The ID under which the service logged the request. */
  readonly requestId: string;
  /** The members and parameters that violate the contract. */
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  /** The operation that was refused, where it takes a key. */
  readonly operation?: OperationKey;
  /**
   * Whether the change may have taken effect although this attempt was refused: this
   * refusal says nothing about an earlier attempt, or leaves the outcome open. Call again
   * with the same operation. Where there is none, read what the request changes first.
   */
  readonly outcomeUnknown: boolean;
  /**
   * What the service knows about the key, where `nextKey` is `look_up`: another request
   * has the key. It is absent if the service did not say.
   */
  readonly record?: IdempotencyRecord;

  constructor(document: ProblemDocument, { operation, outcomeUnknown, record, cause }: Refused) {
    const advice = cause
      ? '; its key could not be dropped, so the next call gets this refusal again'
      : adviceOn(document.next_key, outcomeUnknown);
    super(`${document.code}: ${document.detail}${advice}`, cause ? { cause } : {});
    this.code = document.code;
    this.status = document.status;
    this.title = document.title;
    this.detail = document.detail;
    this.retryable = document.retryable === true;
    this.nextKey = document.next_key ?? null;
    this.requestId = document.request_id;
    this.errors = document.errors ?? [];
    if (operation) this.operation = { operation: operation.operation, key: operation.key };
    this.outcomeUnknown = outcomeUnknown;
    if (record) this.record = record;
  }
}

/**
 * The client stopped before the service had decided: at the deadline, for example, or because
 * the store had no key.
 */
export class OrdersInterrupted extends Error {
  override readonly name = 'OrdersInterrupted';

  /** The operation, where it takes a key. */
  readonly operation?: OperationKey;
  /**
   * Whether the change may have taken effect. Then call again with the same operation and
   * the same request: its key is kept, and the answer is that of the first request. Where
   * there is no operation, read what the request changes first.
   */
  readonly outcomeUnknown: boolean;

  /**
   * @param cause - Why there was no answer: the last failure, or the reason of an
   * aborted signal.
   */
  constructor(cause: unknown, context: Context) {
    super(explain(cause, context), { cause });
    const { operation, outcomeUnknown } = context;
    if (operation) this.operation = { operation: operation.operation, key: operation.key };
    this.outcomeUnknown = outcomeUnknown;
  }
}

/** Returns what must not be overlooked about a refusal. */
function adviceOn(nextKey: string | null, outcomeUnknown: boolean): string {
  if (nextKey === 'look_up')
    return '; the operation keeps its key, because a new one could repeat the request that has it';
  return outcomeUnknown ? '; the outcome is unknown' : '';
}

function explain(cause: unknown, { operation, outcomeUnknown }: Context): string {
  const what = operation ? `operation ${operation.operation} (key ${operation.key})` : 'request';
  const effect = outcomeUnknown ? 'its outcome is unknown' : 'it had no effect';
  return `${what} was interrupted, ${effect}: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/**
 * Reports whether an error is a refusal of the service, with one of the codes if any
 * are named.
 */
export function isProblem(error: unknown, ...codes: ProblemCode[]): error is OrdersProblem {
  return error instanceof OrdersProblem && (codes.length === 0 || codes.includes(error.code));
}
