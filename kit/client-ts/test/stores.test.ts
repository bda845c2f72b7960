import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MemoryStore, type KeyStore } from '@example/orders';
import { FileStore } from '@example/orders/node';
import { storeContract } from './store-contract.js';

/** Returns a folder that is removed with the test. */
async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orders-keys-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

const stores: Record<string, (t: TestContext) => Promise<KeyStore>> = {
  memory: async () => new MemoryStore(),
  file: async (t) => new FileStore(join(await newFolder(t), 'not', 'there', 'yet')),
};

for (const [name, open] of Object.entries(stores)) {
  for (const [behaviour, check] of Object.entries(storeContract))
    test(`${name}: ${behaviour}`, async (t) => check(await open(t)));
}

test('file: a new store on the same folder has the keys', async (t) => {
  const folder = await newFolder(t);
  await new FileStore(folder).getOrCreate('checkout-1/pay', 'key-1');
  assert.equal(await new FileStore(folder).getOrCreate('checkout-1/pay', 'key-2'), 'key-1');
});

test('file: processes at the same time get one key', async (t) => {
  const folder = await newFolder(t);
  const child = fileURLToPath(new URL('./programs/keep-keys.js', import.meta.url));
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: 6 }, () => run(process.execPath, [child, folder, '30'])),
  );
  const lines = outputs.map(({ stdout }) => stdout);
  assert.equal(lines[0]?.trim().split(' ').length, 30);
  assert.equal(new Set(lines).size, 1, 'each process has the same keys');
});

test('file: folders and files are open to their user only', async (t) => {
  const parent = join(await newFolder(t), 'orders');
  const folder = join(parent, 'keys');
  await new FileStore(folder).getOrCreate('checkout-1/pay', 'key-1');
  const [file = ''] = await readdir(folder);
  for (const [path, mode] of [
    [parent, 0o700],
    [folder, 0o700],
    [join(folder, file), 0o600],
  ] as const) {
    assert.equal((await stat(path)).mode & 0o777, mode, path);
  }
});

test('file: no draft is left, and no name or token is readable', async (t) => {
  const folder = await newFolder(t);
  const store = new FileStore(folder);
  await Promise.all(['a', 'b', 'a'].map((operation) => store.getOrCreate(operation, 'k')));
  const names = await readdir(folder);
  assert.deepEqual(
    names.filter((name) => !/^[0-9a-f]{64}\.1$/.test(name)),
    [],
  );
  for (const name of names) assert.equal(await readFile(join(folder, name), 'utf8'), 'k');
});
