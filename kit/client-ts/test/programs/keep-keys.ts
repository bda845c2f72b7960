// Keeps keys for the operations 0, 1, 2, … in a folder, and prints them.
import { FileStore } from '@example/orders/node';

const [folder = '', count] = process.argv.slice(2);
const store = new FileStore(folder);
const keys: string[] = [];
for (let i = 0; i < Number(count); i++)
  keys.push(await store.getOrCreate(String(i), `${process.pid}-${i}`));
console.log(keys.join(' '));
