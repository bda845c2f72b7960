import type { Money } from './models.js';

/**
 * Refuses an amount that its caller forgot to set, as untyped code may.
 *
 * @throws TypeError before anything is sent.
 */
export function requirePositive(body: { amount?: Partial<Money> } | undefined): void {
  const { amount, currency } = body?.amount ?? {};
  if (!(Number(amount) > 0) || !currency)
    throw new TypeError('amount must be greater than zero and have a currency');
}
