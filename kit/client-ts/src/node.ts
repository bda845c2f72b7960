// The client in Node.js: that of browsers, with keys in files.
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { OrdersClient as Client } from './client.js';
import { FileStore } from './file-store.js';
import type { ClientOptions } from './transport.js';

export * from './index.js';
export { FileStore };

/** {@inheritDoc Client} */
export class OrdersClient extends Client {
  /** @param options - Without a store, keys are kept in {@link defaultFolder}. */
  constructor(options: ClientOptions) {
    super({
      ...options,
      store: options.store ?? new FileStore(defaultFolder()),
      newKey: options.newKey ?? randomUUID,
    });
  }
}

/**
 * Returns the folder of keys: `orders-client` in the user's folder for the state of
 * programs.
 */
export function defaultFolder(): string {
  return join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'orders-client');
}
