import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as entry from '@example/orders';
import * as node from '@example/orders/node';

/** Returns what a built module imports, and what that imports. */
async function importsOf(url: URL, found = new Set<string>()): Promise<Set<string>> {
  for (const [, specifier = ''] of (await readFile(url, 'utf8')).matchAll(
    /(?:from|import)\s*\(?['"]([^'"]+)['"]/g,
  )) {
    const target = specifier.startsWith('.') ? new URL(specifier, url) : undefined;
    const name = target?.href ?? specifier;
    if (found.has(name)) continue;
    found.add(name);
    if (target) await importsOf(target, found);
  }
  return found;
}

const dist = new URL('../../dist/', import.meta.url);

test('the modules for browsers import nothing from outside', async () => {
  const imports = await importsOf(new URL('index.js', dist));
  assert.ok(imports.size > 10);
  assert.deepEqual(
    [...imports].filter((name) => !name.startsWith(dist.href) || name.includes('file-store')),
    [],
  );
});

test('the modules for Node.js import Node.js only', async () => {
  const imports = await importsOf(new URL('node.js', dist));
  assert.deepEqual(
    [...imports].filter((name) => !name.startsWith(dist.href) && !name.startsWith('node:')),
    [],
  );
});

test('in Node.js the package is that for Node.js', () => {
  assert.equal(entry.OrdersClient, node.OrdersClient);
});

test('the package has no dependencies at run time', async () => {
  const manifest = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as object;
  assert.ok(!('dependencies' in manifest) && !('peerDependencies' in manifest));
});

test('the example of the README is one that is compiled and run', async () => {
  const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
  const [, example] = /```ts\n(.*?)```/s.exec(await read('README.md')) ?? [];
  assert.equal(example, await read('examples/quickstart.ts'));
});
