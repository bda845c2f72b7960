// What every store does. The same code runs in Node.js and in a page.
import type { KeyStore } from '@example/orders';

/** Checks of an empty store, by what they check. They reject if it does something else. */
export const storeContract: Record<string, (store: KeyStore) => Promise<void>> = {
  'the first key of an operation stays': async (store) => {
    equal(await store.getOrCreate('a', '1'), '1');
    equal(await store.getOrCreate('a', '2'), '1');
    equal(await store.getOrCreate('b', '3'), '3');
  },

  'a key that is forgotten is replaced once': async (store) => {
    await store.getOrCreate('a', '1');
    await store.forget('a', '1');
    await store.forget('a', '1');
    equal(await store.getOrCreate('a', '2'), '2');
    equal(await store.getOrCreate('a', '3'), '2');
    await store.forget('a');
    equal(await store.getOrCreate('a', '4'), '4');
  },

  'forgetting an old key leaves the present one': async (store) => {
    await store.getOrCreate('a', '1');
    await store.forget('a', '1');
    await store.getOrCreate('a', '2');
    await store.forget('a', '1');
    equal(await store.getOrCreate('a', '3'), '2');
  },

  'an operation that is not known can be forgotten': async (store) => {
    await store.forget('a');
    equal(await store.getOrCreate('a', '1'), '1');
  },

  'callers at the same time get one key': async (store) => {
    const keys = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.getOrCreate('a', String(i))),
    );
    equal(new Set(keys).size, 1);
  },
};

function equal<T>(got: T, want: T): void {
  if (got !== want) throw new Error(`got ${got}, want ${want}`);
}
