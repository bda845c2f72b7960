// Creates one order with keys in a folder, and writes the result.
import { OrdersClient } from '@example/orders';
import { FileStore } from '@example/orders/node';

const [url = '', token = '', folder = '', operation = ''] = process.argv.slice(2);
const client = new OrdersClient({ baseUrl: url, token: () => token, store: new FileStore(folder) });
const { data, key, replayed } = await client.createOrder(operation, {
  items: [{ sku: 'tea', quantity: 1 }],
});
console.log(JSON.stringify({ id: data.id, key, replayed }));
