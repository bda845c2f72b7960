// A shop that sells tea, from the balance and by card, and takes it back. Run it again with the
// same basket: everything happened before, and nothing happens twice.
//
//   node build/examples/shop.js basket-4711
import { OrdersClient, type CommandResult, type Order } from '@example/orders';

const baseUrl = process.env['ORDERS_URL'] ?? 'http://127.0.0.1:8080';
const customer = process.env['CUSTOMER'] ?? 'sber-42';
const [basket = 'basket-4711'] = process.argv.slice(2);

const bank = new OrdersClient({
  baseUrl,
  principal: 'bank',
  token: () => process.env['SYSTEM_TOKEN'] ?? '',
});
const shop = new OrdersClient({
  baseUrl,
  principal: customer,
  token: () => process.env['CUSTOMER_TOKEN'] ?? '',
});

/** Prints what an operation has done, and returns its result. */
function report<T extends { id: number }>(what: string, { data, replayed }: CommandResult<T>): T {
  console.log(`${what} ${data.id} ${replayed ? 'before' : 'now'}`);
  return data;
}

async function order(name: string): Promise<Order> {
  return report(
    'order',
    await shop.createOrder(`${name}/order`, { items: [{ sku: 'tea', quantity: 2 }] }),
  );
}

async function buyFromBalance(name: string): Promise<void> {
  const { id, total } = await order(name);
  report('credit', await bank.creditBalance(`${name}/credit`, customer, { amount: total }));
  report('payment', await shop.confirmPayment(`${name}/pay`, id, { method: 'balance' }));
  report('refund', await shop.refundPaymentInFull(`${name}/refund`, id));
}

async function buyByCard(name: string): Promise<void> {
  const { id } = await order(name);
  const card = { method: 'card', payment_method: 'pm_card_visa' } as const;
  const begun = report('payment', await shop.confirmPayment(`${name}/pay`, id, card));
  const payment = await shop.awaitPayment(begun.id);
  console.log(`payment ${begun.id} is ${payment.data.status}`);
  const refund = report('refund', await shop.refundPaymentInFull(`${name}/refund`, id));
  console.log(`refund ${refund.id} is ${(await shop.awaitRefund(refund.id)).data.status}`);
}

await buyFromBalance(`${basket}/balance`);
await buyByCard(`${basket}/card`);
