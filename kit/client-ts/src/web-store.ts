import type { KeyStore } from './store.js';

/** The database of an origin, and its only object store: keys by operation. */
const database = 'orders-client';
const objectStore = 'keys';

/**
 * Keeps keys in the IndexedDB of a browser, through reloads, restarts and crashes: a key is
 * on the disk before it is sent. Tabs and workers of one origin share the keys.
 */
export class WebStore implements KeyStore {
  async getOrCreate(operation: string, proposed: string): Promise<string> {
    let key = proposed;
    await change((keys) => {
      const stored: IDBRequest<string | undefined> = keys.get(operation);
      stored.onsuccess = () => {
        key = stored.result ?? proposed;
        keys.put(key, operation); // also a key of another tab must be on the disk before it is sent
      };
    });
    return key;
  }

  async forget(operation: string, key?: string): Promise<void> {
    await change((keys) => {
      const stored: IDBRequest<string | undefined> = keys.get(operation);
      stored.onsuccess = () => {
        if (key === undefined || stored.result === key) keys.delete(operation);
      };
    });
  }
}

/**
 * Changes keys in a transaction, and returns when the changes are on the disk. Browsers run
 * one such transaction at a time.
 */
async function change(begin: (keys: IDBObjectStore) => void): Promise<void> {
  const db = await open();
  db.onversionchange = () => db.close(); // another tab needs a newer version, and waits for this
  try {
    await new Promise<void>((resolve, reject) => {
      const transaction = db.transaction(objectStore, 'readwrite', { durability: 'strict' });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
      begin(transaction.objectStore(objectStore));
    });
  } finally {
    db.close();
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(database, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(objectStore);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => {
      reject(new Error('another tab keeps an older database of keys open'));
      opening.onsuccess = () => opening.result.close(); // nobody waits for it any more
    };
  });
}
