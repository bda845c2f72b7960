import type { Reply } from './reply.js';

/** What the service answers to a successful request. */
export interface Result<T> {
  data: T;
  /** The ID under which the service logged the request. */
  requestId: string | null;
  /**
   * The version of a product, for `ifMatch` of `putProduct`. Null for everything else.
   */
  etag: string | null;
}

/** What the service answers to an operation that has a key. */
export interface CommandResult<T> extends Result<T> {
  /** The Idempotency-Key of the operation. */
  key: string;
  /**
   * Whether this is the stored answer of an earlier request: the operation took effect
   * then.
   */
  replayed: boolean;
  /** Until when the service stores the answer. */
  expiresAt: Date | null;
}

/** Returns a reply as the result of a request without a key. */
export function resultOf<T>({ data, headers }: Reply): Result<T> {
  return { data: data as T, requestId: headers.get('X-Request-Id'), etag: headers.get('ETag') };
}

/** Returns a reply as the result of an operation that has a key. */
export function commandResultOf<T>(reply: Reply, key: string): CommandResult<T> {
  const expires = reply.headers.get('Idempotency-Expires');
  return {
    ...resultOf<T>(reply),
    key,
    replayed: reply.headers.get('Idempotency-Result') === 'reused',
    expiresAt: expires === null ? null : new Date(expires),
  };
}
