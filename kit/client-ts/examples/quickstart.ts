import { isProblem, OrdersClient } from '@example/orders';

const orders = new OrdersClient({
  baseUrl: process.env['ORDERS_URL'] ?? 'http://127.0.0.1:8080',
  token: () => process.env['CUSTOMER_TOKEN'] ?? '',
});

// A basket of the shop is one order and one payment, however often this program runs.
const basket = process.argv[2] ?? 'basket-4711';

const { data: order } = await orders.createOrder(`${basket}/order`, {
  items: [{ sku: 'tea', quantity: 2 }],
});
try {
  const paid = await orders.confirmPayment(`${basket}/pay`, order.id, { method: 'balance' });
  console.log(paid.replayed ? 'paid before' : 'paid now', paid.data.amount.amount);
} catch (error) {
  if (!isProblem(error, 'insufficient_funds')) throw error;
  console.log('top up and run this again: that is another payment, with another key');
}
