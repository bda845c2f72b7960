import { requirePositive } from './amount.js';
import type { operations } from './api.gen.js';
import { jitter } from './backoff.js';
import { sleep } from './clock.js';
import { OrdersInterrupted } from './errors.js';
import type * as models from './models.js';
import { Pages, type Page } from './pages.js';
import type { CommandResult, Result } from './result.js';
import { Transport, type CallOptions, type ClientOptions } from './transport.js';

type Query<O extends keyof operations> = Omit<
  NonNullable<operations[O]['parameters']['query']>,
  'cursor'
>;

/**
 * A client of the orders API. Each method is an operation of the contract, which
 * describes it.
 *
 * Methods that move money or stock take the name of an operation first. The name is the
 * caller's own and stands for one intent, such as `checkout-4711/pay`. The client makes
 * one Idempotency-Key for it before the first attempt, keeps it, and sends it with each
 * attempt: those of this call, and those of any later call with the same name. So the
 * operation takes effect once.
 *
 * Methods reject with {@link OrdersProblem} if the service refuses, and with {@link
 * OrdersInterrupted} if it did not decide in time. Lists reject while they are read.
 */
export class OrdersClient {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /**
   * Drops the key of an operation. The next call with the name is a new operation, and
   * may take effect a second time. It is meant for names whose business is done.
   */
  forget(operation: string, options?: CallOptions): Promise<void> {
    return this.#transport.forget(operation, options);
  }

  // --- orders ---

  /** Creates an order, and reserves the stock of its items. */
  createOrder(
    operation: string,
    body: models.CreateOrderRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.Order>> {
    return this.#transport.command(operation, '/orders', { body }, options);
  }

  /** Lists orders, newest first. */
  listOrders(query: Query<'listOrders'> = {}, options?: CallOptions): Pages<models.Order> {
    return this.#pages((cursor) =>
      this.#transport.request('get', '/orders', { query: { ...query, ...cursor } }, options),
    );
  }

  /** Gets an order. */
  getOrderById(orderId: number, options?: CallOptions): Promise<Result<models.Order>> {
    return this.#transport.request(
      'get',
      '/orders/{order_id}',
      { path: { order_id: orderId } },
      options,
    );
  }

  /** Extends the reservation of an order that awaits payment. */
  reserveInventory(
    operation: string,
    orderId: number,
    options?: CallOptions,
  ): Promise<CommandResult<models.Order>> {
    const input = { path: { order_id: orderId }, body: {} };
    return this.#transport.command(operation, '/orders/{order_id}/reservation', input, options);
  }

  /** Cancels an order, and refunds its payment in full. */
  cancelOrder(
    operation: string,
    orderId: number,
    body: models.CancelOrderRequest = {},
    options?: CallOptions,
  ): Promise<CommandResult<models.Order>> {
    return this.#transport.command(
      operation,
      '/orders/{order_id}/cancel',
      { path: { order_id: orderId }, body },
      options,
    );
  }

  /**
   * Moves a paid order to its next status. It takes no key, so an attempt without an
   * answer is the last one.
   */
  updateOrderStatus(
    orderId: number,
    body: models.UpdateOrderStatusRequest,
    options?: CallOptions,
  ): Promise<Result<models.Order>> {
    return this.#transport.request(
      'patch',
      '/orders/{order_id}/status',
      { path: { order_id: orderId }, body },
      options,
    );
  }

  // --- payments ---

  /** Pays an order. A card payment is `processing` first: see {@link awaitPayment}. */
  confirmPayment(
    operation: string,
    orderId: number,
    body: models.ConfirmPaymentRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.Payment>> {
    const input = { path: { order_id: orderId }, body };
    return this.#transport.command(operation, '/orders/{order_id}/payment/confirm', input, options);
  }

  /** Refunds an amount of an order. A refund to a card is `pending` first: see {@link awaitRefund}. */
  async refundPayment(
    operation: string,
    orderId: number,
    body: models.PartialRefundRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.Refund>> {
    requirePositive(body);
    const input = { path: { order_id: orderId }, body };
    return this.#transport.command(operation, '/orders/{order_id}/payment/refund', input, options);
  }

  /**
   * Refunds everything of an order that is still refundable, and cancels the order if it has
   * not been shipped.
   */
  refundPaymentInFull(
    operation: string,
    orderId: number,
    refund: Omit<models.FullRefundRequest, 'full'> = {},
    options?: CallOptions,
  ): Promise<CommandResult<models.Refund>> {
    const input = { path: { order_id: orderId }, body: { ...refund, full: true } as const };
    return this.#transport.command(operation, '/orders/{order_id}/payment/refund', input, options);
  }

  /** Lists the payments of an order with their refunds, newest first. */
  listPayments(orderId: number, options?: CallOptions): Promise<Result<models.PaymentList>> {
    return this.#transport.request(
      'get',
      '/orders/{order_id}/payments',
      { path: { order_id: orderId } },
      options,
    );
  }

  /** Lists the payments of all orders with their refunds, newest first, for administrators. */
  searchPayments(
    query: Query<'searchPayments'> = {},
    options?: CallOptions,
  ): Pages<models.PaymentWithRefunds> {
    return this.#pages((cursor) =>
      this.#transport.request('get', '/payments', { query: { ...query, ...cursor } }, options),
    );
  }

  /** Gets a payment. */
  getPayment(paymentId: number, options?: CallOptions): Promise<Result<models.Payment>> {
    return this.#transport.request(
      'get',
      '/payments/{payment_id}',
      { path: { payment_id: paymentId } },
      options,
    );
  }

  /** Gets a refund. */
  getRefund(refundId: number, options?: CallOptions): Promise<Result<models.Refund>> {
    return this.#transport.request(
      'get',
      '/refunds/{refund_id}',
      { path: { refund_id: refundId } },
      options,
    );
  }

  /**
   * Waits until a payment is `captured` or `failed`. It asks again and again, until the
   * deadline.
   */
  awaitPayment(paymentId: number, options?: CallOptions): Promise<Result<models.Payment>> {
    return this.#await(['captured', 'failed'], (poll) => this.getPayment(paymentId, poll), options);
  }

  /**
   * Waits until a refund is `succeeded` or `failed`. It asks again and again, until the
   * deadline.
   */
  awaitRefund(refundId: number, options?: CallOptions): Promise<Result<models.Refund>> {
    return this.#await(['succeeded', 'failed'], (poll) => this.getRefund(refundId, poll), options);
  }

  // --- balances ---

  /** Gets the balance of a customer, one amount for each currency. */
  getBalance(customerId: string, options?: CallOptions): Promise<Result<models.Balance>> {
    return this.#transport.request(
      'get',
      '/customers/{customer_id}/balance',
      { path: { customer_id: customerId } },
      options,
    );
  }

  /** Takes money from the balance of a customer. */
  async chargeBalance(
    operation: string,
    customerId: string,
    body: models.ChargeBalanceRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.BalanceTransaction>> {
    requirePositive(body);
    const input = { path: { customer_id: customerId }, body };
    return this.#transport.command(
      operation,
      '/customers/{customer_id}/balance/charge',
      input,
      options,
    );
  }

  /** Adds money to the balance of a customer. */
  async creditBalance(
    operation: string,
    customerId: string,
    body: models.CreditBalanceRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.BalanceTransaction>> {
    requirePositive(body);
    const input = { path: { customer_id: customerId }, body };
    return this.#transport.command(
      operation,
      '/customers/{customer_id}/balance/credit',
      input,
      options,
    );
  }

  /** Lists the balance transactions of a customer, newest first. */
  listBalanceTransactions(
    customerId: string,
    query: Query<'listBalanceTransactions'> = {},
    options?: CallOptions,
  ): Pages<models.BalanceTransaction> {
    const path = { customer_id: customerId };
    return this.#pages((cursor) =>
      this.#transport.request(
        'get',
        '/customers/{customer_id}/balance/transactions',
        { path, query: { ...query, ...cursor } },
        options,
      ),
    );
  }

  // --- customers ---

  /** Gets the profile of a customer. */
  getCustomerProfile(customerId: string, options?: CallOptions): Promise<Result<models.Profile>> {
    return this.#transport.request(
      'get',
      '/customers/{customer_id}/profile',
      { path: { customer_id: customerId } },
      options,
    );
  }

  /**
   * Replaces the profile of a customer. It takes no key, so an attempt without an
   * answer is the last one.
   */
  updateCustomerProfile(
    customerId: string,
    body: models.UpdateCustomerProfileRequest,
    options?: CallOptions,
  ): Promise<Result<models.Profile>> {
    return this.#transport.request(
      'put',
      '/customers/{customer_id}/profile',
      { path: { customer_id: customerId }, body },
      options,
    );
  }

  /**
   * Deletes the profile of a customer. It takes no key, so an attempt without an answer
   * is the last one.
   */
  deleteCustomerProfile(customerId: string, options?: CallOptions): Promise<Result<undefined>> {
    return this.#transport.request(
      'delete',
      '/customers/{customer_id}/profile',
      { path: { customer_id: customerId } },
      options,
    );
  }

  // --- products ---

  /** Lists products by SKU. */
  listProducts(query: Query<'listProducts'> = {}, options?: CallOptions): Pages<models.Product> {
    return this.#pages((cursor) =>
      this.#transport.request('get', '/products', { query: { ...query, ...cursor } }, options),
    );
  }

  /** Gets a product. `etag` of the result is its version. */
  getProduct(sku: string, options?: CallOptions): Promise<Result<models.Product>> {
    return this.#transport.request('get', '/products/{sku}', { path: { sku } }, options);
  }

  /**
   * Creates or replaces a product. It takes no key, so an attempt without an answer is
   * the last one.
   *
   * @param options - `ifMatch` is the `etag` that the caller has seen. Replacing the
   * stock needs it.
   */
  putProduct(
    sku: string,
    body: models.PutProductRequest,
    { ifMatch, ...options }: CallOptions & { ifMatch?: string } = {},
  ): Promise<Result<models.Product>> {
    const headers: Record<string, string> = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
    return this.#transport.request('put', '/products/{sku}', { path: { sku }, body }, options, {
      headers,
    });
  }

  /** Adds units to the stock of a product, or takes them. */
  adjustStock(
    operation: string,
    sku: string,
    body: models.AdjustStockRequest,
    options?: CallOptions,
  ): Promise<CommandResult<models.StockAdjustment>> {
    return this.#transport.command(
      operation,
      '/products/{sku}/stock',
      { path: { sku }, body },
      options,
    );
  }

  // --- webhooks ---

  /**
   * Creates a webhook endpoint. Keep the secret, which nothing else returns: it verifies the
   * events. It takes no key, so an attempt without an answer is the last one.
   */
  createWebhookEndpoint(
    body: models.CreateWebhookEndpointRequest,
    options?: CallOptions,
  ): Promise<Result<models.WebhookEndpointWithSecret>> {
    return this.#transport.request('post', '/webhook-endpoints', { body }, options);
  }

  /** Lists webhook endpoints, newest first. */
  listWebhookEndpoints(
    query: Query<'listWebhookEndpoints'> = {},
    options?: CallOptions,
  ): Pages<models.WebhookEndpoint> {
    return this.#pages((cursor) =>
      this.#transport.request(
        'get',
        '/webhook-endpoints',
        { query: { ...query, ...cursor } },
        options,
      ),
    );
  }

  /** Gets a webhook endpoint. */
  getWebhookEndpoint(
    endpointId: number,
    options?: CallOptions,
  ): Promise<Result<models.WebhookEndpoint>> {
    const input = { path: { endpoint_id: endpointId } };
    return this.#transport.request('get', '/webhook-endpoints/{endpoint_id}', input, options);
  }

  /**
   * Changes a webhook endpoint. It takes no key, so an attempt without an answer is the
   * last one.
   */
  updateWebhookEndpoint(
    endpointId: number,
    body: models.UpdateWebhookEndpointRequest,
    options?: CallOptions,
  ): Promise<Result<models.WebhookEndpoint>> {
    const input = { path: { endpoint_id: endpointId }, body };
    return this.#transport.request('patch', '/webhook-endpoints/{endpoint_id}', input, options);
  }

  /**
   * Deletes a webhook endpoint with its deliveries. It takes no key, so an attempt without
   * an answer is the last one.
   */
  deleteWebhookEndpoint(endpointId: number, options?: CallOptions): Promise<Result<undefined>> {
    const input = { path: { endpoint_id: endpointId } };
    return this.#transport.request('delete', '/webhook-endpoints/{endpoint_id}', input, options);
  }

  /**
   * Replaces the secret of a webhook endpoint. The previous one signs as well for 24 hours.
   * It takes no key, so an attempt without an answer is the last one.
   */
  rotateWebhookSecret(
    endpointId: number,
    options?: CallOptions,
  ): Promise<Result<models.WebhookEndpointWithSecret>> {
    return this.#transport.request(
      'post',
      '/webhook-endpoints/{endpoint_id}/rotate-secret',
      { path: { endpoint_id: endpointId } },
      options,
    );
  }

  /**
   * Queues a test event for a webhook endpoint. It takes no key, so an attempt without an
   * answer is the last one.
   */
  testWebhookEndpoint(
    endpointId: number,
    options?: CallOptions,
  ): Promise<Result<models.WebhookDelivery>> {
    const input = { path: { endpoint_id: endpointId } };
    return this.#transport.request('post', '/webhook-endpoints/{endpoint_id}/test', input, options);
  }

  /** Lists the deliveries of a webhook endpoint, newest first. */
  listWebhookDeliveries(
    endpointId: number,
    query: Query<'listWebhookDeliveries'> = {},
    options?: CallOptions,
  ): Pages<models.WebhookDelivery> {
    return this.#pages((cursor) =>
      this.#transport.request(
        'get',
        '/webhook-endpoints/{endpoint_id}/deliveries',
        { path: { endpoint_id: endpointId }, query: { ...query, ...cursor } },
        options,
      ),
    );
  }

  /**
   * Queues a delivery again, under the same event ID. It takes no key, so an attempt without
   * an answer is the last one.
   */
  retryWebhookDelivery(
    endpointId: number,
    deliveryId: number,
    options?: CallOptions,
  ): Promise<Result<models.WebhookDelivery>> {
    return this.#transport.request(
      'post',
      '/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry',
      { path: { endpoint_id: endpointId, delivery_id: deliveryId } },
      options,
    );
  }

  // --- the service ---

  /**
   * Gets the outcome of the operation that has a key. `not_found` means that there is no
   * record. A request with the key may still be on its way: send it again with the key.
   */
  getIdempotencyKey(key: string, options?: CallOptions): Promise<Result<models.IdempotencyRecord>> {
    return this.#transport.request('get', '/idempotency-keys/{key}', { path: { key } }, options);
  }

  /** Lists the audit log, newest entry first. */
  listAuditLog(query: Query<'listAuditLog'> = {}, options?: CallOptions): Pages<models.AuditEntry> {
    return this.#pages((cursor) =>
      this.#transport.request(
        'get',
        '/admin/audit-log',
        { query: { ...query, ...cursor } },
        options,
      ),
    );
  }

  /**
   * Sends an event of the card provider, as tests do. It takes no key, so it is sent
   * once.
   */
  takeStripeWebhook(
    event: models.WebhookEvent,
    signature: string,
    options?: CallOptions,
  ): Promise<Result<models.WebhookReceipt>> {
    const headers = { 'Stripe-Signature': signature };
    return this.#transport.request('post', '/webhooks/stripe', { body: event }, options, {
      headers,
      isPublic: true,
    });
  }

  /** Gets whether the process is up, and its version. */
  getLiveness(options?: CallOptions): Promise<Result<models.Liveness>> {
    return this.#transport.request('get', '/health/live', {}, options, { isPublic: true });
  }

  /** Gets whether the service can serve requests. While it cannot, the call retries. */
  getReadiness(options?: CallOptions): Promise<Result<models.Health>> {
    return this.#transport.request('get', '/health/ready', {}, options, { isPublic: true });
  }

  /** Gets the contract as YAML. */
  getOpenAPI(options?: CallOptions): Promise<Result<string>> {
    return this.#transport.request('get', '/openapi.yaml', {}, options, {
      isPublic: true,
    }) as Promise<Result<string>>;
  }

  /** Gets the API reference as HTML. */
  getDocs(options?: CallOptions): Promise<Result<string>> {
    return this.#transport.request('get', '/docs', {}, options, { isPublic: true }) as Promise<
      Result<string>
    >;
  }

  /** Gets a text file that the API reference uses. */
  getDocsAsset(asset: string, options?: CallOptions): Promise<Result<string>> {
    return this.#transport.request('get', '/docs/{asset}', { path: { asset } }, options, {
      isPublic: true,
    }) as Promise<Result<string>>;
  }

  #pages<T>(
    fetch: (cursor: {
      cursor?: string;
    }) => Promise<Result<{ data: T[]; next_cursor: string | null }>>,
  ): Pages<T> {
    return new Pages<T>(
      async (cursor): Promise<Page<T>> =>
        (await fetch(cursor === undefined ? {} : { cursor })).data,
    );
  }

  /** Reads something until it has one of the final statuses. */
  async #await<T extends { status: string }>(
    final: string[],
    read: (options: CallOptions) => Promise<Result<T>>,
    options?: CallOptions,
  ): Promise<Result<T>> {
    const { clock, random, backoff } = this.#transport.settings;
    const deadline = this.#transport.deadline(options);
    const { signal } = deadline;
    try {
      for (let polls = 1; ; polls++) {
        const result = await read({ signal, deadline: Infinity });
        if (final.includes(result.data.status)) return result;
        await sleep(clock, jitter(backoff, polls, random), signal).catch((reason: unknown) => {
          throw new OrdersInterrupted(reason, { operation: undefined, outcomeUnknown: false });
        });
      }
    } finally {
      deadline.close();
    }
  }
}
