import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { KeyStore } from './store.js';

/**
 * Keeps keys in the files of a folder, through restarts. Processes that share the
 * folder share the keys.
 *
 * An operation has the files `<hash>.1`, `<hash>.2` and so on, and the last one counts:
 * it has a key, or it is empty because the key was dropped. A file is never changed or
 * removed, so nobody needs a lock: whoever creates the next file first has decided.
 */
export class FileStore implements KeyStore {
  readonly #folder: string;

  /** @param folder - Where to keep the keys. It is created if it does not exist. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async getOrCreate(operation: string, proposed: string): Promise<string> {
    await createFolder(this.#folder);
    for (;;) {
      const { generation, key } = await this.#last(operation);
      if (key !== '' || (await this.#create(operation, generation + 1, proposed))) {
        await syncFolder(this.#folder); // also a key of somebody else must survive before it is sent
        return key || proposed;
      }
    }
  }

  async forget(operation: string, key?: string): Promise<void> {
    const last = await this.#last(operation);
    if (last.key === '' || (key !== undefined && last.key !== key)) return;
    await this.#create(operation, last.generation + 1, '');
    await syncFolder(this.#folder);
  }

  /**
   * Returns the last file of an operation: generation 0 and no key if there is none.
   */
  async #last(operation: string): Promise<{ generation: number; key: string }> {
    let key = '';
    for (let generation = 0; ; generation++) {
      const next = await readIfExists(this.#path(operation, generation + 1));
      if (next === undefined) return { generation, key };
      key = next;
    }
  }

  /**
   * Creates a file with all its content, and reports whether it was the first to do so.
   */
  async #create(operation: string, generation: number, content: string): Promise<boolean> {
    const draft = join(this.#folder, `${randomUUID()}.draft`);
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
      await link(draft, this.#path(operation, generation)); // never replaces a file, as rename would
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      await file.close();
      await unlink(draft);
    }
  }

  #path(operation: string, generation: number): string {
    const hash = createHash('sha256').update(operation).digest('hex');
    return join(this.#folder, `${hash}.${generation}`);
  }
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Creates a folder durably, with the folders above it that are missing. They are open to
 * their user only.
 */
async function createFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return; // it exists
  const above = dirname(first);
  for (let parent = dirname(resolve(folder)); parent !== above; parent = dirname(parent))
    await syncFolder(parent);
  await syncFolder(above);
}

/**
 * Makes the names in a folder durable. Windows does so by itself, and cannot be asked
 * to.
 */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
