import type { Schemas } from './contract.js';

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
   * Which key another attempt needs, where the operation takes one: `same` or `new`.
   */
  readonly nextKey: string | null;
  /** The ID under which the service logged the request. */
  readonly requestId: string;
  /** The members and parameters that violate the contract. */
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  /** The operation that was refused, where it takes a key. */
  readonly operation?: OperationKey;
  /**
   * Whether the operation may have taken effect although this attempt was refused: an
   * earlier attempt of the call had no answer, and this refusal says nothing about it.
   * Call again with the same operation.
   */
  readonly outcomeUnknown: boolean;

  constructor(document: ProblemDocument, { operation, outcomeUnknown }: Context) {
    super(`${document.code}: ${document.detail}${adviceOn(document.code, outcomeUnknown)}`);
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
  }
}

/** The client stopped before the service had decided: at the deadline, for example. */
export class OrdersInterrupted extends Error {
  override readonly name = 'OrdersInterrupted';

  /** The operation, where it takes a key. */
  readonly operation?: OperationKey;
  /**
   * Whether the operation may have taken effect. Then call again with the same
   * operation and the same request: its key is kept, and the answer is that of the
   * first request.
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
function adviceOn(code: ProblemCode, outcomeUnknown: boolean): string {
  if (code === 'idempotency_key_reused') {
    return '; the operation keeps its key, because it may have taken effect under it';
  }
  return outcomeUnknown ? '; the outcome of an earlier attempt is unknown, so call again' : '';
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
