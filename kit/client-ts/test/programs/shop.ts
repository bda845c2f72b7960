// Runs shoppers with keys in a folder, or without kept keys if no folder is named. It reads
// what to do as JSON, and writes what became of it.
import { text } from 'node:stream/consumers';
import { OrdersClient } from '@example/orders';
import { FileStore } from '@example/orders/node';
import { shop, shopNaively, type Shopping } from '../shoppers.js';

const shopping = JSON.parse(await text(process.stdin)) as Shopping;
const [folder] = process.argv.slice(2);
const receipt =
  folder === undefined
    ? await shopNaively(shopping)
    : await shop(
        shopping,
        (options) => new OrdersClient({ ...options, store: new FileStore(folder) }),
      );
console.log(JSON.stringify(receipt));
