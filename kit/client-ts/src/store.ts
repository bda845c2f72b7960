/**
 * Keeps one Idempotency-Key for one operation. A key is no secret. Tokens are never
 * stored.
 *
 * A store for more than one process or tab must be atomic between them: two callers of
 * one operation get the same key.
 */
export interface KeyStore {
  /**
   * Returns the key of an operation. The first caller stores the key that it proposes.
   * The key is durable when the promise resolves, because the request is sent then. A call
   * waits for it until the deadline, and sends nothing afterwards.
   */
  getOrCreate(operation: string, proposed: string): Promise<string>;

  /**
   * Drops a key, so that the next attempt at the operation gets another one. It does
   * nothing if the operation has a different key by now. Without a key, it drops the
   * present one.
   */
  forget(operation: string, key?: string): Promise<void>;
}

/**
 * Keeps keys until the program ends. Use it where a restart starts no operation again.
 */
export class MemoryStore implements KeyStore {
  readonly #keys = new Map<string, string>();

  async getOrCreate(operation: string, proposed: string): Promise<string> {
    const key = this.#keys.get(operation) ?? proposed;
    this.#keys.set(operation, key);
    return key;
  }

  async forget(operation: string, key?: string): Promise<void> {
    if (key === undefined || this.#keys.get(operation) === key) this.#keys.delete(operation);
  }
}
