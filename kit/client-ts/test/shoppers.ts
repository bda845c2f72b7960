// Shoppers whose requests get lost. The same code runs in Node.js and in a page.
import type { ClientOptions, CommandResult, OrdersClient } from '@example/orders';

/** What a test tells the shoppers. */
export interface Shopping {
  url: string;
  /** A token of the bank, which credits the shoppers. */
  bank: string;
  /** The product that each of them orders. */
  sku: string;
  shoppers: { customer: string; token: string }[];
}

/** What the operations of all shoppers answered. */
export interface Receipt {
  operations: number;
  replayed: number;
}

type NewClient = (options: ClientOptions) => OrdersClient;

/**
 * The waits are short, because the proxy holds back many an answer until an attempt
 * ends.
 */
const impatient = { attemptTimeout: 250, deadline: 300_000, backoff: { base: 5, cap: 200 } };

/**
 * Lets each shopper get money, order, pay, and get some of it back: four operations
 * each.
 */
export async function shop(
  { url, bank, sku, shoppers }: Shopping,
  newClient: NewClient,
): Promise<Receipt> {
  const receipt = { operations: 0, replayed: 0 };
  const note = <T>({ data, replayed }: CommandResult<T>): T => {
    receipt.operations++;
    if (replayed) receipt.replayed++;
    return data;
  };
  const teller = newClient({ ...impatient, baseUrl: url, token: () => bank });
  await inParallel(shoppers, async ({ customer, token }) => {
    const client = newClient({
      ...impatient,
      baseUrl: url,
      token: () => token,
      principal: customer,
    });
    note(await teller.creditBalance(`${customer}/credit`, customer, { amount: roubles('250.00') }));
    const order = note(
      await client.createOrder(`${customer}/order`, { items: [{ sku, quantity: 1 }] }),
    );
    note(await client.confirmPayment(`${customer}/pay`, order.id, { method: 'balance' }));
    note(await client.refundPayment(`${customer}/refund`, order.id, { amount: roubles('4.00') }));
  });
  return receipt;
}

/** Does the same as many programs do: whatever fails is sent anew, with a new key. */
export async function shopNaively({ url, bank, sku, shoppers }: Shopping): Promise<Receipt> {
  const receipt = { operations: 0, replayed: 0 };
  const send = async (token: string, path: string, body: object): Promise<{ id: number }> => {
    for (;;) {
      const answer = await attempt(url + path, token, body).catch(() => undefined); // lost
      if (answer === undefined) continue;
      receipt.operations++;
      return answer;
    }
  };
  await inParallel(shoppers, async ({ customer, token }) => {
    await send(bank, `/customers/${customer}/balance/credit`, { amount: roubles('250.00') });
    const { id } = await send(token, '/orders', { items: [{ sku, quantity: 1 }] });
    await send(token, `/orders/${id}/payment/confirm`, { method: 'balance' });
    await send(token, `/orders/${id}/payment/refund`, { amount: roubles('4.00') });
  });
  return receipt;
}

/** Sends a request once, with a key that nobody keeps. A refusal counts as done. */
async function attempt(url: string, token: string, body: object): Promise<{ id: number }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(impatient.attemptTimeout),
  });
  if (response.status >= 500) throw new Error(`status ${response.status}`);
  return (await response.json()) as { id: number };
}

function roubles(amount: string) {
  return { amount, currency: 'RUB' };
}

/** Works for 32 entries at a time. */
async function inParallel<T>(entries: T[], work: (entry: T) => Promise<void>): Promise<void> {
  const rest = entries.values();
  const worker = async () => {
    for (const entry of rest) await work(entry);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}
