import { insertEvent, statement } from './database.js';
import { once } from './once.js';
import { problem } from './problem.js';

const lockProducts = statement(
  'lockProducts',
  `SELECT sku, seller_id, price, currency, on_hand - reserved AS available FROM product
   WHERE sku = ANY($1) ORDER BY sku FOR UPDATE`,
);
const reserveStock = statement(
  'reserveStock',
  `UPDATE product p SET reserved = p.reserved + i.quantity
   FROM unnest($1::text[], $2::bigint[]) i (sku, quantity) WHERE p.sku = i.sku`,
);
const insertOrder = statement(
  'insertOrder',
  `INSERT INTO orders (customer_id, seller_id, status, total, currency, reserved_until, version,
     created_by, idempotency_key, created_at, updated_at)
   VALUES ($1, $2, 'pending_payment', $3, $4, now() + interval '24 hours', 1, $1, $5, now(), now())
   RETURNING id, created_at, reserved_until`,
);
const insertItems = statement(
  'insertItems',
  `INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
   SELECT $1, i.line, i.sku, i.quantity, i.price
   FROM unnest($2::text[], $3::int[], $4::numeric[]) WITH ORDINALITY i (sku, quantity, price, line)`,
);

export function createOrder(caller, key, body) {
  return once({ caller, key, operation: 'createOrder', request: body }, (client) =>
    run(client, caller.subject, key, body.items),
  );
}

async function run(client, customer, key, items) {
  const skus = items.map((item) => item.sku);
  const quantities = items.map((item) => item.quantity);
  const products = productsOf(items, await lockProducts(client, skus));
  const { seller_id: seller, currency } = products[0];
  const prices = products.map((product) => cents(product.price));
  const total = money(prices.reduce((sum, price, i) => sum + price * quantities[i], 0));
  await reserveStock(client, skus, quantities);
  const [order] = await insertOrder(client, customer, seller, total, currency, key);
  const id = Number(order.id);
  await insertItems(client, id, skus, quantities, prices.map(money));
  await insertEvent(client, 'order.created', `order/${id}`, {
    order_id: id,
    customer_id: customer,
    seller_id: seller,
    status: 'pending_payment',
    amount: total,
    currency,
    version: 1,
  });
  const result = {
    id,
    customer_id: customer,
    seller_id: seller,
    status: 'pending_payment',
    items: items.map(({ sku, quantity }, i) => ({
      sku,
      quantity,
      unit_price: { amount: money(prices[i]), currency },
    })),
    total: { amount: total, currency },
    reservation: { expires_at: order.reserved_until },
    reference: null,
    version: 1,
    created_at: order.created_at,
    updated_at: order.created_at,
  };
  return { location: `/orders/${id}`, result };
}

// Returns the product of each item, and refuses the order if one cannot be sold.
function productsOf(items, locked) {
  const bySKU = new Map(locked.map((product) => [product.sku, product]));
  return items.map(({ sku, quantity }) => {
    const product = bySKU.get(sku);
    if (!product) throw problem(404, `no product ${sku}`);
    if (product.available < quantity) throw problem(409, `insufficient stock of ${sku}`);
    if (product.seller_id !== locked[0].seller_id || product.currency !== locked[0].currency) {
      throw problem(422, 'the products must have one seller and one currency');
    }
    return product;
  });
}

// Prices have two decimals here.
const cents = (price) => Math.round(Number(price) * 100);
const money = (amount) => (amount / 100).toFixed(2);
