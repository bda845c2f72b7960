export { OrdersClient } from './client.js';
export {
  OrdersInterrupted,
  OrdersProblem,
  isProblem,
  type OperationKey,
  type ProblemCode,
} from './errors.js';
export { Pages, type Page } from './pages.js';
export { MemoryStore, type KeyStore } from './store.js';
export { WebStore } from './web-store.js';
export type { Backoff } from './backoff.js';
export type { TokenSource } from './call.js';
export type { Clock } from './clock.js';
export type { CommandResult, Result } from './result.js';
export type { CallOptions, ClientOptions } from './transport.js';
export type * from './models.js';
