import type { KeyStore } from './store.js';

const prefix = 'orders-key ';

/**
 * Keeps keys in the local storage of a browser, through reloads and restarts.
 *
 * Tabs of one origin share it. They take turns through the Web Locks API, which
 * browsers offer to pages from https and from localhost only.
 */
export class WebStore implements KeyStore {
  readonly #storage: Storage;

  /**
   * @param storage - Where to keep the keys. `sessionStorage` keeps them for one tab.
   */
  constructor(storage: Storage = localStorage) {
    this.#storage = storage;
  }

  getOrCreate(operation: string, proposed: string): Promise<string> {
    return exclusively(operation, () => {
      const name = prefix + operation;
      const kept = this.#storage.getItem(name);
      if (kept !== null) return kept;
      this.#storage.setItem(name, proposed);
      return proposed;
    });
  }

  forget(operation: string, key?: string): Promise<void> {
    return exclusively(operation, () => {
      const name = prefix + operation;
      if (key === undefined || this.#storage.getItem(name) === key) this.#storage.removeItem(name);
    });
  }
}

/** Runs a function while no other tab runs one for the same operation. */
async function exclusively<T>(operation: string, run: () => T): Promise<T> {
  const locks = globalThis.navigator?.locks;
  return locks ? await locks.request(prefix + operation, async () => run()) : run();
}
