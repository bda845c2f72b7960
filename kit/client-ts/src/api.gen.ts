// Generated from api/openapi.yaml by openapi-typescript. Do not edit.

export interface paths {
    "/admin/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit log entries
         * @description Newest first. The log has an entry for each change by an administrator, for each read of what belongs to others, and for each read of the log itself.
         */
        get: operations["listAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/customers/{customer_id}/balance": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        /**
         * Get the balance of a customer
         * @description One amount for each currency.
         */
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/customers/{customer_id}/balance/charge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Charge the balance of a customer
         * @description Takes money from the balance, which never becomes negative.
         */
        post: operations["chargeBalance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/customers/{customer_id}/balance/credit": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Credit the balance of a customer
         * @description Adds money to the balance.
         */
        post: operations["creditBalance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/customers/{customer_id}/balance/transactions": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        /**
         * List the balance transactions of a customer
         * @description Newest first. In each currency, `balance_after` of the first transaction is the balance.
         */
        get: operations["listBalanceTransactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/customers/{customer_id}/profile": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        /** Get the profile of a customer */
        get: operations["getCustomerProfile"];
        /**
         * Replace the profile of a customer
         * @description Creates the profile if the customer has none.
         */
        put: operations["updateCustomerProfile"];
        post?: never;
        /**
         * Delete the profile of a customer
         * @description Deletes the name, the email address and the phone number. Orders and balance transactions remain: they name the customer by id only. A customer without a profile gets 204, too, so the request can be repeated when its response is lost.
         */
        delete: operations["deleteCustomerProfile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** View the API reference */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/{asset}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example swagger-ui.css */
                asset: components["parameters"]["AssetInPath"];
            };
            cookie?: never;
        };
        /** Get an asset of the API reference */
        get: operations["getDocsAsset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check liveness
         * @description Reports that the process is running, and its version. Does not use the database.
         */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check readiness
         * @description Reports whether requests can be served: the database is reachable and accepts writes, its migrations are current, signing keys are loaded, and the process is not shutting down.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/idempotency-keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The Idempotency-Key of the operation, as in the header.
                 * @example 5f0c6d1e-pay-1041
                 */
                key: components["parameters"]["KeyInPath"];
            };
            cookie?: never;
        };
        /**
         * Look up an idempotency key
         * @description Returns the outcome of the operation that has the key. Callers find only their own keys. While the operation runs, its state is `in_progress`: wait for `Retry-After`, and ask again. When it is `completed`, `status` says what became of it: below 300, it took effect; else it was refused, and another attempt needs a new key. A refusal is found for as long as a success, also when its key is spent. The response is 404 if there is no record. That never means that the operation did not happen: a request may still be on its way, or wait in the service. Send the same request with the same key.
         */
        get: operations["getIdempotencyKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this document */
        get: operations["getOpenAPI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orders
         * @description Newest first. Customers see their own orders, sellers the orders of their products, and administrators all orders. With `reference`, customers and sellers see only those that they created.
         */
        get: operations["listOrders"];
        put?: never;
        /**
         * Create an order
         * @description Reserves the stock of all items, or of none. Customers create orders for themselves. Sellers set `customer_id` and order their own products. Prices are those of the products. All products must have the same currency and the same seller, and a SKU must not occur twice. The service bounds how many unpaid orders of a customer there may be: those that the customer created, and those that each seller created for the customer. An order counts until it is paid or cancelled, even if its reservation has expired.
         */
        post: operations["createOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        /** Get an order */
        get: operations["getOrderById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an order
         * @description Releases the stock of the order and refunds its payment in full. An order that has shipped, or whose card payment is processing, cannot be cancelled.
         */
        post: operations["cancelOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/payment/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm the payment of an order
         * @description A payment from the balance is `captured` immediately. A card payment is `processing` first, and `captured` or `failed` later. An order has at most one payment that is `processing` or `captured`, whatever keys are sent. A total that no card takes, such as 35.205 KWD, is refused with 422 `payment_method_unavailable`.
         */
        post: operations["confirmPayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/payment/refund": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refund the payment of an order
         * @description The request says how much: `amount`, or `full` for everything that is still refundable. Customers can refund until the order ships, administrators at any time. If nothing remains refundable before the order ships, the order is cancelled. A refund to a card is `pending` first, and is refused while a bank disputes the payment. Its amount must be one that cards take: a multiple of 0.01 where the currency has three decimals. Send a `reference`, such as the number of the ticket, with a refund in part: no key stops one that is requested again under a new key.
         */
        post: operations["refundPayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/payments": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        /**
         * List the payments of an order
         * @description Newest first, with their refunds, newest first as well. Includes payments that failed.
         */
        get: operations["listPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/reservation": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend a reservation
         * @description Extends the reservation of an order that awaits payment. If the reservation has expired, the stock is reserved anew, provided that it is still available. The service bounds how often this succeeds for one order, whoever asks for it.
         */
        post: operations["reserveInventory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orders/{order_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update the status of an order
         * @description Moves a paid order from `paid` to `fulfilling`, `shipped` and `delivered`, one step at a time.
         */
        patch: operations["updateOrderStatus"];
        trace?: never;
    };
    "/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the payments of all orders
         * @description Newest first, with their refunds. To find payments that wait for the card provider, filter by the status `processing` and a `created_to` that has passed. To find those with an open dispute, send `disputed=true`.
         */
        get: operations["searchPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/payments/{payment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                payment_id: components["parameters"]["PaymentInPath"];
            };
            cookie?: never;
        };
        /**
         * Get a payment
         * @description To wait for a card payment, repeat the request until the status is not `processing`.
         */
        get: operations["getPayment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/products": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List products
         * @description Newest first.
         */
        get: operations["listProducts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/products/{sku}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example tea */
                sku: components["parameters"]["ProductInPath"];
            };
            cookie?: never;
        };
        /** Get a product */
        get: operations["getProduct"];
        /**
         * Create or replace a product
         * @description A new product belongs to the caller, and needs `on_hand`. Existing orders keep the prices at which they were created. Without `on_hand`, the stock of an existing product is left alone. With it, `If-Match` must name the `ETag` of the product, so that a repeated request never brings back stock that was sold. To add or take units, use `adjustStock`.
         */
        put: operations["putProduct"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/products/{sku}/stock": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example tea */
                sku: components["parameters"]["ProductInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Adjust the stock of a product
         * @description Changes the quantity on hand by a difference: a delivery, a loss, or the result of a count. Adjustments that are made at the same time add up. Send a `reference`, such as the number of the delivery note: no key stops a delivery that is booked again under a new key.
         */
        post: operations["adjustStock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/refunds/{refund_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                refund_id: components["parameters"]["RefundInPath"];
            };
            cookie?: never;
        };
        /**
         * Get a refund
         * @description To wait for a refund to a card, repeat the request until the status is not `pending`.
         */
        get: operations["getRefund"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook endpoints
         * @description Newest first. Sellers see their endpoints, and administrators all endpoints.
         */
        get: operations["listWebhookEndpoints"];
        put?: never;
        /**
         * Create a webhook endpoint
         * @description The service sends the events that are committed afterwards to the URL, as Standard Webhooks describes. A seller's endpoint receives the events about their orders and products, an administrator's those of all sellers. The response has the `secret` that signs the events. No other response shows it: if it is lost, rotate it. An owner has at most 10 endpoints.
         */
        post: operations["createWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{endpoint_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        /** Get a webhook endpoint */
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Its deliveries are deleted, too. An attempt that has begun may still arrive.
         */
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        /**
         * Change a webhook endpoint
         * @description Changes the members that are sent. While an endpoint is disabled, its deliveries wait. Send `disabled: false` to let them go, the oldest first.
         */
        patch: operations["updateWebhookEndpoint"];
        trace?: never;
    };
    "/webhook-endpoints/{endpoint_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook endpoint
         * @description Newest first. A delivery is deleted seven days after its event.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                delivery_id: components["parameters"]["DeliveryInPath"];
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an event again
         * @description Queues the delivery at once, whatever its status, with the same `webhook-id`. Its attempts start anew.
         */
        post: operations["retryWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{endpoint_id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the secret of a webhook endpoint
         * @description Returns the new secret, which no other response shows. For 24 hours, events are signed with the previous secret as well, so that the receiver has time to change.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook-endpoints/{endpoint_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event to a webhook endpoint
         * @description Queues an event of the type `webhook_endpoint.test`, whatever types the endpoint asks for. The list of deliveries shows the result.
         */
        post: operations["testWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/stripe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive a Stripe webhook
         * @description For Stripe only. The `Stripe-Signature` header must sign the body, and its time must be within five minutes of the service's. Each event takes effect once, by its id; events may arrive in any order. An event that differs from our payment in amount, currency or order has no effect: the service asks Stripe for the outcome. Events in another mode than the API key, or of a connected account, are ignored. Choose these event types for the endpoint: `charge.dispute.closed`, `charge.dispute.created`, `charge.dispute.funds_reinstated`, `charge.dispute.funds_withdrawn`, `charge.dispute.updated`, `payment_intent.canceled`, `payment_intent.succeeded`, `refund.created`, `refund.failed` and `refund.updated`. A signed event that can never take effect is acknowledged with 200, too, because Stripe would send it again for days; the service logs and counts it. The response is 404 if card payments are not enabled, and 503 while too many webhooks are being read.
         */
        post: operations["takeStripeWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The change of the quantity on hand, with an optional reason and reference. The new quantity is 0 to 1000000000. */
        AdjustStockRequest: {
            change: components["schemas"]["StockChange"];
            reason?: components["schemas"]["Text"];
            reference?: components["schemas"]["Reference"];
        };
        /** @description A decimal number without sign or exponent, with at most as many decimals as the currency has. */
        Amount: string;
        /** @description An action of an administrator. */
        AuditEntry: {
            /** @description The name of the use case, such as `CancelOrder`. */
            action: string;
            actor: components["schemas"]["SubjectID"];
            at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ResourceID"];
            metadata: components["schemas"]["AuditMetadata"];
            /** @description The resource, such as `order/1041`. Lists are `orders` and `audit-log`. */
            resource: string;
        };
        /** @description Details of the action, as names and values: whose the resource is (`customer_id`, `seller_id`), IDs and amounts of what was made, statuses and quantities before and after, names of changed members, and the filters of a list. It contains no personal data. */
        AuditMetadata: {
            [key: string]: string;
        };
        /** @description A page of the audit log. */
        AuditPage: {
            data: components["schemas"]["AuditEntry"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description The balance of a customer, computed from the balance transactions. It has no time of its own. */
        Balance: {
            /** @description One amount for each currency. */
            balances: components["schemas"]["Money"][];
            customer_id: components["schemas"]["SubjectID"];
        };
        /** @description A change of a customer's balance. The amount has no sign; `kind` determines the direction. */
        BalanceTransaction: {
            amount: components["schemas"]["Money"];
            balance_after: components["schemas"]["Money"];
            created_at: components["schemas"]["Timestamp"];
            customer_id: components["schemas"]["SubjectID"];
            description: components["schemas"]["Text"] | null;
            id: components["schemas"]["ResourceID"];
            kind: components["schemas"]["BalanceTransactionKind"];
            reference: components["schemas"]["Reference"] | null;
        };
        /** @description The kind of transaction. Credits and refunds add to the balance. Charges and payments take from it. */
        BalanceTransactionKind: "credit" | "charge" | "payment" | "refund" | (string & {});
        /** @description A page of balance transactions. */
        BalanceTransactionPage: {
            data: components["schemas"]["BalanceTransaction"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description The reason for the cancellation. */
        CancelOrderRequest: {
            reason?: components["schemas"]["Text"];
        };
        /** @description The amount to charge, with an optional description and reference. */
        ChargeBalanceRequest: {
            amount: components["schemas"]["Money"];
            description?: components["schemas"]["Text"];
            reference?: components["schemas"]["Reference"];
        };
        /** @description A payment from the customer's balance. */
        ConfirmBalancePayment: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            method: "balance";
        };
        /** @description A payment with a card. */
        ConfirmCardPayment: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            method: "card";
            /** @description The Stripe payment method of the card. Never send a card number. */
            payment_method: string;
        };
        /** @description The payment method. `method` decides which members there are. */
        ConfirmPaymentRequest: components["schemas"]["ConfirmBalancePayment"] | components["schemas"]["ConfirmCardPayment"];
        /** @description A product and its quantity. */
        CreateOrderItem: {
            quantity: components["schemas"]["Quantity"];
            sku: components["schemas"]["SKU"];
        };
        /** @description The items to order. Sellers must set `customer_id`. */
        CreateOrderRequest: {
            customer_id?: components["schemas"]["SubjectID"];
            /** @description The items. A SKU must not occur twice. */
            items: components["schemas"]["CreateOrderItem"][];
            reference?: components["schemas"]["Reference"];
        };
        /** @description The new endpoint. Without `ordered`, events arrive in any order. */
        CreateWebhookEndpointRequest: {
            description?: components["schemas"]["Text"];
            event_types: components["schemas"]["EventTypePatterns"];
            ordered?: components["schemas"]["Ordered"];
            url: components["schemas"]["WebhookURL"];
        };
        /** @description The amount to credit, with an optional description and reference. */
        CreditBalanceRequest: {
            amount: components["schemas"]["Money"];
            description?: components["schemas"]["Text"];
            reference?: components["schemas"]["Reference"];
        };
        /** @description An ISO 4217 currency code. */
        Currency: string;
        /** @description An opaque position in a list. It stays valid while entries are added. */
        Cursor: string;
        /** @description The demand of the customer's bank to take the money of a card payment back. Evidence is submitted at the card provider. */
        Dispute: {
            amount: components["schemas"]["Amount"];
            currency: components["schemas"]["Currency"];
            /** @description When the provider needs the answer, if it says so. */
            due_by: components["schemas"]["Timestamp"] | null;
            /** @description The provider's ID of the dispute. */
            id: string;
            /** @description The provider's code for the reason that the customer gave, for example `fraudulent`. */
            reason: string;
            status: components["schemas"]["DisputeStatus"];
        };
        /**
         * @description Send `true` for payments with an open dispute.
         * @enum {string}
         */
        DisputedFilter: "true";
        /** @description The step of a dispute, in the card provider's words. `warning_…` is an inquiry: the bank asks, and has taken no money. `warning_closed`, `prevented`, `won` and `lost` are decisions, which a bank may change. A dispute that the provider prevented by returning the money is `lost`. */
        DisputeStatus: "warning_needs_response" | "warning_under_review" | "warning_closed" | "needs_response" | "under_review" | "prevented" | "won" | "lost" | (string & {});
        /** @description An e-mail address. */
        Email: string;
        /** @description An asterisk, or entity tags in double quotes with commas between them (RFC 9110). */
        EntityTags: string;
        /** @description The types of the events that the endpoint receives: `order.paid`, or `order.*` for a family, or `*`. Each must match at least one type. */
        EventTypePatterns: string[];
        /** @description A member of the body, or a parameter, that is invalid. */
        FieldError: {
            /** @description The rule that it violates. */
            detail: string;
            /** @description The member or parameter, as a JSON Pointer in a URI fragment (RFC 6901). */
            pointer: string;
        };
        /**
         * @description A status that sellers and administrators can set.
         * @enum {string}
         */
        FulfilmentStatus: "fulfilling" | "shipped" | "delivered";
        /** @description A refund of everything that is still refundable. */
        FullRefundRequest: {
            /** @enum {boolean} */
            full: true;
            reason?: components["schemas"]["Text"];
            reference?: components["schemas"]["Reference"];
        };
        /** @description The health of the process. */
        Health: {
            status: components["schemas"]["HealthStatus"];
        };
        /** @description The health of the process. */
        HealthStatus: "live" | "ready" | (string & {});
        /** @description Visible ASCII characters without `" , ; \`. */
        IdempotencyKey: string;
        /** @description A key, optionally in double quotes. */
        IdempotencyKeyHeader: string;
        /** @description The outcome of an operation. While it runs, only `key` and `state` are present. */
        IdempotencyRecord: {
            /** @description The ID of the operation in this document, such as `confirmPayment`. */
            command?: string;
            created_at?: components["schemas"]["Timestamp"];
            /**
             * Format: date-time
             * @description The time until which the response is replayed, as in `Idempotency-Expires`. It has passed if the key is spent on a refusal.
             */
            expires_at?: string;
            key: components["schemas"]["IdempotencyKey"];
            state: components["schemas"]["IdempotencyState"];
            /** @description The status code of the response. Below 300, the operation took effect. Else it was refused. */
            status?: number;
        };
        /** @description `created` if the operation took effect now, `reused` if it did earlier. */
        IdempotencyResult: "created" | "reused" | (string & {});
        /** @description `in_progress` while the operation runs, `completed` when its response is stored. */
        IdempotencyState: "in_progress" | "completed" | (string & {});
        /** @description The health of the process, and its version. */
        Liveness: {
            status: components["schemas"]["HealthStatus"];
            /**
             * @description The version of the release that the process was built from.
             * @example 0.1.0
             */
            version: string;
        };
        /** @description An amount in a currency. */
        Money: {
            amount: components["schemas"]["Amount"];
            currency: components["schemas"]["Currency"];
        };
        /** @description A name, on a single line. */
        Name: string;
        /** @description Which Idempotency-Key another attempt needs. `same`: nothing was decided, and an earlier attempt with the key may have taken effect, or may still. `new`: the operation was refused under the key. `look_up`: the key belongs to another request; look it up before anything else. */
        NextKey: "same" | "new" | "look_up" | (string & {});
        /** @description Products that a customer buys from one seller, in one currency. */
        Order: {
            created_at: components["schemas"]["Timestamp"];
            customer_id: components["schemas"]["SubjectID"];
            id: components["schemas"]["ResourceID"];
            items: components["schemas"]["OrderItem"][];
            reference: components["schemas"]["Reference"] | null;
            /** @description The reservation, or null if no stock is reserved. */
            reservation: components["schemas"]["Reservation"] | null;
            seller_id: components["schemas"]["SubjectID"];
            status: components["schemas"]["OrderStatus"];
            total: components["schemas"]["Money"];
            updated_at: components["schemas"]["Timestamp"];
            /** @description The version of the order. It starts at 1 and grows with each change. */
            version: number;
        };
        /** @description Whether an event waits until the events before it about the same order, payment or product are delivered, or given up. */
        Ordered: boolean;
        /** @description A product of an order, at its price when the order was created. */
        OrderItem: {
            quantity: components["schemas"]["Quantity"];
            sku: components["schemas"]["SKU"];
            unit_price: components["schemas"]["Money"];
        };
        /** @description A page of orders. */
        OrderPage: {
            data: components["schemas"]["Order"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description The status of an order. */
        OrderStatus: "pending_payment" | "payment_processing" | "paid" | "fulfilling" | "shipped" | "delivered" | "cancelled" | (string & {});
        /**
         * @description The status of the orders to return.
         * @enum {string}
         */
        OrderStatusFilter: "pending_payment" | "payment_processing" | "paid" | "fulfilling" | "shipped" | "delivered" | "cancelled";
        /** @description A refund of an amount. */
        PartialRefundRequest: {
            amount: components["schemas"]["Money"];
            reason?: components["schemas"]["Text"];
            reference?: components["schemas"]["Reference"];
        };
        /** @description A payment of an order. */
        Payment: {
            amount: components["schemas"]["Money"];
            created_at: components["schemas"]["Timestamp"];
            /** @description A dispute that is open, or else the latest one. Null if there was none. */
            dispute: components["schemas"]["Dispute"] | null;
            failure: components["schemas"]["PaymentFailure"] | null;
            id: components["schemas"]["ResourceID"];
            method: components["schemas"]["PaymentMethod"];
            order_id: components["schemas"]["ResourceID"];
            refunded: components["schemas"]["Money"];
            status: components["schemas"]["PaymentStatus"];
        };
        /** @description Why the card was not charged. The order awaits another payment. docs/use.md says for each value what helps. */
        PaymentFailure: "approve_with_id" | "authentication_required" | "call_issuer" | "cancelled" | "card_decline_rate_limit_exceeded" | "card_not_supported" | "card_velocity_exceeded" | "currency_not_supported" | "do_not_honor" | "do_not_try_again" | "duplicate_transaction" | "expired_card" | "fraudulent" | "generic_decline" | "incorrect_address" | "incorrect_cvc" | "incorrect_number" | "incorrect_pin" | "incorrect_zip" | "insufficient_funds" | "invalid_account" | "invalid_amount" | "invalid_cvc" | "invalid_expiry_month" | "invalid_expiry_year" | "invalid_number" | "invalid_pin" | "issuer_not_available" | "lost_card" | "merchant_blacklist" | "new_account_information_available" | "no_action_taken" | "not_permitted" | "offline_pin_required" | "online_or_offline_pin_required" | "pickup_card" | "pin_try_exceeded" | "processing_error" | "reenter_transaction" | "restricted_card" | "revocation_of_all_authorizations" | "revocation_of_authorization" | "security_violation" | "service_not_allowed" | "stolen_card" | "stop_payment_order" | "testmode_decline" | "transaction_not_allowed" | "try_again_later" | "unknown_card" | "unknown_reason" | "unsupported_amount" | "unusable_card" | "withdrawal_count_limit_exceeded" | (string & {});
        /** @description The payments of an order. */
        PaymentList: {
            data: components["schemas"]["PaymentWithRefunds"][];
        };
        /** @description The source of the money. */
        PaymentMethod: "balance" | "card" | (string & {});
        /**
         * @description The method of the payments to return.
         * @enum {string}
         */
        PaymentMethodFilter: "balance" | "card";
        /** @description A page of payments. */
        PaymentPage: {
            data: components["schemas"]["PaymentWithRefunds"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description The status of a payment. */
        PaymentStatus: "processing" | "captured" | "failed" | (string & {});
        /**
         * @description The status of the payments to return.
         * @enum {string}
         */
        PaymentStatusFilter: "processing" | "captured" | "failed";
        /** @description A payment of an order with its refunds. */
        PaymentWithRefunds: {
            amount: components["schemas"]["Money"];
            created_at: components["schemas"]["Timestamp"];
            /** @description A dispute that is open, or else the latest one. Null if there was none. */
            dispute: components["schemas"]["Dispute"] | null;
            failure: components["schemas"]["PaymentFailure"] | null;
            id: components["schemas"]["ResourceID"];
            method: components["schemas"]["PaymentMethod"];
            order_id: components["schemas"]["ResourceID"];
            refunded: components["schemas"]["Money"];
            refunds: components["schemas"]["Refund"][];
            status: components["schemas"]["PaymentStatus"];
        };
        /** @description A telephone number in E.164 format. */
        Phone: string;
        /** @description An error response (RFC 9457). */
        Problem: {
            code: components["schemas"]["ProblemCode"];
            /** @description An explanation of this occurrence. It never contains internal causes or personal data. */
            detail: string;
            /** @description The members and parameters that are invalid. */
            errors?: components["schemas"]["FieldError"][];
            /** @description The path of the request, with `*` in place of what is not a plain ID. `/*` if there is no such path. */
            instance: string;
            /** @description The key of another attempt, or null where the operation takes no Idempotency-Key. */
            next_key: components["schemas"]["NextKey"] | null;
            /** @description Identifies the request in the server's logs. */
            request_id: string;
            /** @description True if a retry of the same request can succeed, and cannot do harm. */
            retryable: boolean;
            /** @description The HTTP status code. */
            status: number;
            /** @description A short description of the kind of problem. */
            title: string;
            /** @description A URI that identifies the kind of problem. docs/problems.md has a section for each. */
            type: string;
        };
        /** @description The stable code of the problem. Branch on this. */
        ProblemCode: "malformed_request" | "idempotency_key_required" | "idempotency_key_invalid" | "unauthenticated" | "insufficient_funds" | "forbidden_role" | "forbidden_resource" | "not_found" | "method_not_allowed" | "body_too_large" | "unsupported_media_type" | "reference_taken" | "idempotency_key_reused" | "idempotency_key_spent" | "idempotency_in_progress" | "invalid_order_state" | "reservation_limit" | "unpaid_orders_limit" | "out_of_stock" | "stock_reserved" | "reservation_expired" | "refund_exceeds_payment" | "payment_disputed" | "webhook_endpoint_exists" | "precondition_failed" | "precondition_required" | "validation_failed" | "unknown_sku" | "mixed_currencies" | "mixed_sellers" | "payment_method_unavailable" | "rate_limited" | "internal" | "unavailable" | "outcome_unknown" | (string & {});
        /** @description A product of a seller. `available` is `on_hand` minus `reserved`. */
        Product: {
            available: components["schemas"]["Stock"];
            created_at: components["schemas"]["Timestamp"];
            name: components["schemas"]["Name"];
            on_hand: components["schemas"]["Stock"];
            price: components["schemas"]["Money"];
            reserved: components["schemas"]["Stock"];
            seller_id: components["schemas"]["SubjectID"];
            sku: components["schemas"]["SKU"];
        };
        /** @description A page of products. */
        ProductPage: {
            data: components["schemas"]["Product"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description The profile of a customer. */
        Profile: {
            created_at: components["schemas"]["Timestamp"];
            customer_id: components["schemas"]["SubjectID"];
            email: components["schemas"]["Email"];
            full_name: components["schemas"]["Name"];
            phone: components["schemas"]["Phone"];
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description The new product. It replaces the existing one. A new product needs `on_hand`. */
        PutProductRequest: {
            name: components["schemas"]["Name"];
            on_hand?: components["schemas"]["Stock"];
            price: components["schemas"]["Money"];
        };
        /** @description A number of units. */
        Quantity: number;
        /**
         * Format: reference
         * @description Your own ID of what the request is for: visible characters and single spaces, in Unicode Normalization Form C. Spaces at its ends, control, format and zero-width characters, and spaces other than U+0020 are refused, because two references that look alike would be two intents. You never create two orders of a customer with the same reference, even if the first is cancelled: to order again, choose another one. A customer never has two balance transactions of one kind with the same reference. You never refund a payment, and never adjust the stock of a product, twice with the same one, even if the first refund failed.
         */
        Reference: string;
        /** @description Money that is returned to the customer. */
        Refund: {
            amount: components["schemas"]["Money"];
            created_at: components["schemas"]["Timestamp"];
            /** @description Null unless the refund failed. Refunds that failed before this was recorded have none. */
            failure: components["schemas"]["RefundFailure"] | null;
            id: components["schemas"]["ResourceID"];
            made_by: components["schemas"]["RefundMadeBy"];
            order_id: components["schemas"]["ResourceID"];
            payment_id: components["schemas"]["ResourceID"];
            reason: components["schemas"]["Text"] | null;
            reference: components["schemas"]["Reference"] | null;
            status: components["schemas"]["RefundStatus"];
        };
        /** @description The card provider's code for the reason of the refusal, for example `lost_or_stolen_card`, `expired_or_canceled_card`, `charge_for_pending_refund_disputed`, `insufficient_funds`, `declined`, `merchant_request` or `unknown`. Stripe adds codes. The amount is refundable again. */
        RefundFailure: string;
        /** @description Where the refund was made: by a request to this service (`api`), or in the card provider's dashboard (`provider`). */
        RefundMadeBy: "api" | "provider" | (string & {});
        /** @description What to refund, by exactly one of `amount` and `full`. */
        RefundPaymentRequest: components["schemas"]["PartialRefundRequest"] | components["schemas"]["FullRefundRequest"];
        /** @description The status of a refund. */
        RefundStatus: "pending" | "succeeded" | "failed" | (string & {});
        /** @description Stock that is set aside for an unpaid order. */
        Reservation: {
            expires_at: components["schemas"]["Timestamp"];
        };
        /** @description An empty object. */
        ReserveInventoryRequest: Record<string, never>;
        /**
         * Format: int64
         * @description The ID of an order, payment, refund, balance transaction, stock adjustment, webhook endpoint or delivery, or audit log entry.
         */
        ResourceID: number;
        /** @description The seller's identifier of a product. */
        SKU: string;
        /**
         * Format: int64
         * @description A number of units.
         */
        Stock: number;
        /** @description A change of the stock of a product. `on_hand` is the quantity after it. */
        StockAdjustment: {
            change: components["schemas"]["StockChange"];
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ResourceID"];
            on_hand: components["schemas"]["Stock"];
            reason: components["schemas"]["Text"] | null;
            reference: components["schemas"]["Reference"] | null;
            sku: components["schemas"]["SKU"];
        };
        /**
         * Format: int64
         * @description A number of units, positive for units that are added. Not zero.
         */
        StockChange: number;
        /** @description The ID of a customer, seller or administrator, which is the `sub` of their tokens. */
        SubjectID: string;
        /** @description A single line of text. */
        Text: string;
        /**
         * Format: date-time
         * @description An RFC 3339 timestamp in UTC, to the microsecond at most.
         */
        TimeFilter: string;
        /**
         * Format: date-time
         * @description An RFC 3339 timestamp in UTC.
         */
        Timestamp: string;
        /** @description The new profile. It replaces the existing one. */
        UpdateCustomerProfileRequest: {
            email: components["schemas"]["Email"];
            full_name: components["schemas"]["Name"];
            phone: components["schemas"]["Phone"];
        };
        /** @description The new status of the order. */
        UpdateOrderStatusRequest: {
            /** @description Whether to deliver although the customer's bank disputes the payment, or has taken the money back. Without it, the step to `fulfilling` is then refused as `payment_disputed`. */
            despite_dispute?: boolean;
            status: components["schemas"]["FulfilmentStatus"];
        };
        /** @description The members to change, at least one. An empty description removes it. */
        UpdateWebhookEndpointRequest: {
            description?: components["schemas"]["Text"];
            /** @description Whether deliveries wait. */
            disabled?: boolean;
            event_types?: components["schemas"]["EventTypePatterns"];
            ordered?: components["schemas"]["Ordered"];
            url?: components["schemas"]["WebhookURL"];
        };
        /** @description One event for one webhook endpoint. */
        WebhookDelivery: {
            /** @description How many attempts have begun. */
            attempts: number;
            created_at: components["schemas"]["Timestamp"];
            /** @description Why the last attempt failed, or null. */
            error: ("timeout" | "refused_address" | "connection" | "status" | (string & {})) | null;
            /** @description The `webhook-id` of every attempt, and the `id` of the event. */
            event_id: string;
            /** @description The type of the event. */
            event_type: string;
            /** @description When the receiver had the event, or it was given up, or null. */
            finished_at: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["ResourceID"];
            /** @description When the next attempt is due, or null if none follows. During an attempt, when it counts as lost. */
            next_attempt_at: components["schemas"]["Timestamp"] | null;
            /** @description The first 500 characters of the last response, or null. */
            response_start: string | null;
            /** @description The HTTP status of the last attempt, or null if it had no response. */
            response_status: number | null;
            status: components["schemas"]["WebhookDeliveryStatus"];
        };
        /** @description A page of webhook deliveries. */
        WebhookDeliveryPage: {
            data: components["schemas"]["WebhookDelivery"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description Whether another attempt follows (`pending`), the receiver has the event, or it was given up (`failed`). */
        WebhookDeliveryStatus: "pending" | "delivered" | "failed" | (string & {});
        /**
         * @description The status of the deliveries to return.
         * @enum {string}
         */
        WebhookDeliveryStatusFilter: "pending" | "delivered" | "failed";
        /** @description A URL that receives events. */
        WebhookEndpoint: {
            created_at: components["schemas"]["Timestamp"];
            description: components["schemas"]["Text"] | null;
            /** @description Whether deliveries wait until the endpoint is enabled. */
            disabled: boolean;
            /** @description Why the endpoint is disabled, or null. */
            disabled_reason: string | null;
            event_types: components["schemas"]["EventTypePatterns"];
            /** @description When the first attempt failed since the last that succeeded, or null. */
            failing_since: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["ResourceID"];
            ordered: components["schemas"]["Ordered"];
            /** @description The seller whose events the endpoint receives, or null for those of all sellers. */
            seller_id: components["schemas"]["SubjectID"] | null;
            url: components["schemas"]["WebhookURL"];
        };
        /** @description A page of webhook endpoints. */
        WebhookEndpointPage: {
            data: components["schemas"]["WebhookEndpoint"][];
            /** @description The cursor of the next page, or null on the last page. */
            next_cursor: components["schemas"]["Cursor"] | null;
        };
        /** @description A webhook endpoint with its new secret, which no other response shows. */
        WebhookEndpointWithSecret: {
            created_at: components["schemas"]["Timestamp"];
            description: components["schemas"]["Text"] | null;
            /** @description Whether deliveries wait until the endpoint is enabled. */
            disabled: boolean;
            /** @description Why the endpoint is disabled, or null. */
            disabled_reason: string | null;
            event_types: components["schemas"]["EventTypePatterns"];
            /** @description When the first attempt failed since the last that succeeded, or null. */
            failing_since: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["ResourceID"];
            ordered: components["schemas"]["Ordered"];
            /** @description The key of the signatures, as Standard Webhooks writes it. */
            secret: string;
            /** @description The seller whose events the endpoint receives, or null for those of all sellers. */
            seller_id: components["schemas"]["SubjectID"] | null;
            url: components["schemas"]["WebhookURL"];
        };
        /** @description A Stripe event, as Stripe documents it. */
        WebhookEvent: {
            [key: string]: unknown;
        };
        /** @description An empty object. */
        WebhookReceipt: Record<string, never>;
        /** @description The time and the signature, as `t=…,v1=…`. */
        WebhookSignature: string;
        /** @description An absolute https URL without credentials and fragment, which leads to a public address. */
        WebhookURL: string;
    };
    responses: {
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 400: the Idempotency-Key is missing or invalid, or the request could not be read.
         *     - 403: the caller's roles do not permit this operation.
         *     - 413: the body is too large.
         *     - 415: the Content-Type is not `application/json`.
         *     - 500: an unexpected error occurred.
         */
        BalanceCommandProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The reference is taken, or the Idempotency-Key is in use. */
        BalanceConflict: {
            headers: {
                "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 400: the Idempotency-Key is missing or invalid, or the request could not be read.
         *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
         *     - 404: the resource does not exist.
         *     - 413: the body is too large.
         *     - 415: the Content-Type is not `application/json`.
         *     - 500: an unexpected error occurred.
         */
        CommandProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is invalid. `errors` names the members and parameters. */
        GuardedValidationFailed: {
            headers: {
                "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 500: an unexpected error occurred.
         */
        InternalProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No request can have this Idempotency-Key. */
        KeyInvalid: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 403: the caller's roles do not permit this operation.
         *     - 422: the request is invalid; `errors` names the members and parameters.
         *     - 500: an unexpected error occurred.
         */
        ListProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 403: the caller's roles do not permit this operation.
         *     - 404: the resource does not exist.
         *     - 422: the request is invalid; `errors` names the members and parameters.
         *     - 500: an unexpected error occurred.
         */
        LookupProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The path does not support this method. Returned for every method that this document does not list. */
        MethodNotAllowed: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such path. Returned for every path that this document does not list. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
         *     - 422: the request is invalid; `errors` names the members and parameters.
         *     - 500: an unexpected error occurred.
         */
        OwnerProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The caller sent too many requests or new Idempotency-Keys within a minute, or has too many requests in progress. The request had no effect. */
        RateLimited: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /**
         * @description Any other problem. `code` says which.
         *
         *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
         *     - 404: the resource does not exist.
         *     - 422: the request is invalid; `errors` names the members and parameters.
         *     - 500: an unexpected error occurred.
         */
        ResourceProblem: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The token is missing or invalid. `detail` says why. */
        Unauthenticated: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The service is temporarily unavailable. */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The service is temporarily unavailable, or the outcome of the request is unknown. */
        UnavailableOrUnknown: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The service is temporarily unavailable, or the outcome of the request is unknown. If it is unknown, do not repeat the request, because that could change more: read the resource. */
        UnavailableOrUnknownOnce: {
            headers: {
                "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /** @example swagger-ui.css */
        AssetInPath: string;
        /** @description Return only what was created at this time or later. */
        CreatedFrom: components["schemas"]["TimeFilter"];
        /** @description Return only what was created before this time. It must not be before `created_from`. */
        CreatedTo: components["schemas"]["TimeFilter"];
        /** @description Return only orders of this customer. */
        CustomerFilter: components["schemas"]["SubjectID"];
        /**
         * @description The customer's ID, which is the `sub` of their tokens.
         * @example sber-42
         */
        CustomerInPath: components["schemas"]["SubjectID"];
        /** @example 1 */
        DeliveryInPath: components["schemas"]["ResourceID"];
        /** @description Return only deliveries with this status. */
        DeliveryStatusFilter: components["schemas"]["WebhookDeliveryStatusFilter"];
        /** @description Return only payments that a bank disputes and has not decided about. */
        DisputedFilter: components["schemas"]["DisputedFilter"];
        /** @example 1 */
        EndpointInPath: components["schemas"]["ResourceID"];
        /** @description The `ETag` of the product that you have seen, or a list of them. The request is refused with 412 `precondition_failed` unless the product has one of them. `*` requires only that the product exists, which is not enough to replace its stock. A tag that a compressing proxy has weakened (`W/"3"`) or extended (`"3-gzip"`) counts as `"3"`. */
        IfMatchHeader: components["schemas"]["EntityTags"];
        /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
        KeyHeader: components["schemas"]["IdempotencyKeyHeader"];
        /**
         * @description The Idempotency-Key of the operation, as in the header.
         * @example 5f0c6d1e-pay-1041
         */
        KeyInPath: components["schemas"]["IdempotencyKeyHeader"];
        /** @example 1 */
        OrderInPath: components["schemas"]["ResourceID"];
        /** @description The `next_cursor` of the previous page. */
        PageCursor: components["schemas"]["Cursor"];
        /** @description The maximum number of entries on a page. */
        PageLimit: number;
        /** @example 1 */
        PaymentInPath: components["schemas"]["ResourceID"];
        /** @description Return only payments by this method. */
        PaymentMethodFilter: components["schemas"]["PaymentMethodFilter"];
        /** @description Return only payments with this status. */
        PaymentStatusFilter: components["schemas"]["PaymentStatusFilter"];
        /** @example tea */
        ProductInPath: components["schemas"]["SKU"];
        /** @description Return only what was created with this reference. */
        ReferenceFilter: components["schemas"]["Reference"];
        /** @example 1 */
        RefundInPath: components["schemas"]["ResourceID"];
        /** @description Return only orders with this status. */
        StatusFilter: components["schemas"]["OrderStatusFilter"];
    };
    requestBodies: never;
    headers: {
        /**
         * @description The version of the document.
         * @example "6f1ed002ab55"
         */
        ETag: string;
        /**
         * @description The time until which the response is stored.
         * @example 2026-11-07T09:30:00Z
         */
        "Idempotency-Expires": components["schemas"]["Timestamp"];
        /**
         * @description The key of the operation.
         * @example 5f0c6d1e-pay-1041
         */
        "Idempotency-Key": components["schemas"]["IdempotencyKeyHeader"];
        /**
         * @description `created` if the operation took effect now, `reused` if it took effect earlier and this is its response.
         * @example created
         */
        "Idempotency-Result": components["schemas"]["IdempotencyResult"];
        /**
         * @description `true` if this is a stored response. Absent otherwise.
         * @example true
         */
        "Idempotent-Replayed": "true";
        /**
         * @description The path of the new resource.
         * @example /orders/1041
         */
        Location: string;
        /**
         * @description The version of the product, for `If-Match`. It changes with the name, the price and the quantity on hand. A reservation does not change it.
         * @example "3"
         */
        "Product-ETag": string;
        /**
         * @description The time until which the refusal is replayed. The key is spent after that. Absent if the refusal is not stored.
         * @example 2026-11-04T15:30:00Z
         */
        "Refusal-Idempotency-Expires": components["schemas"]["Timestamp"];
        /**
         * @description The key of the operation. Absent if the key was not accepted.
         * @example 5f0c6d1e-pay-1041
         */
        "Refusal-Idempotency-Key": components["schemas"]["IdempotencyKeyHeader"];
        /**
         * @description `created` if this refusal is new, `reused` if it was stored earlier. Absent if it is not stored.
         * @example created
         */
        "Refusal-Idempotency-Result": components["schemas"]["IdempotencyResult"];
        /**
         * @description The number of seconds to wait before retrying the request.
         * @example 1
         */
        "Retry-After": number;
        /**
         * @description The number of seconds to wait before asking again. Present if `state` is `in_progress`.
         * @example 1
         */
        "Retry-After-When-In-Progress": number;
        /**
         * @description The number of seconds to wait before retrying the request. Present if `retryable` is true.
         * @example 1
         */
        "Retry-After-When-Retryable": number;
        /**
         * @description The authentication scheme (RFC 6750). If a token was sent, `error` is `invalid_token` and `error_description` is the problem's `detail`.
         * @example Bearer error="invalid_token", error_description="the token expired at 2026-11-04T09:30:00Z"
         */
        "WWW-Authenticate": string;
        /**
         * @description Identifies the request in the server's logs. Quote it when you report a problem.
         * @example 0199c0de-7a1b-7c2d-8e3f-4a5b6c7d8e9f
         */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listAuditLog: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the audit log. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ListProblem"];
        };
    };
    getBalance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balance. Empty if the customer has never had one. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["OwnerProblem"];
        };
    };
    chargeBalance: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChargeBalanceRequest"];
            };
        };
        responses: {
            /** @description The balance transaction. */
            201: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceTransaction"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The balance is lower than the amount. */
            402: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["BalanceConflict"];
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["BalanceCommandProblem"];
        };
    };
    creditBalance: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreditBalanceRequest"];
            };
        };
        responses: {
            /** @description The balance transaction. */
            201: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceTransaction"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["BalanceConflict"];
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["BalanceCommandProblem"];
        };
    };
    listBalanceTransactions: {
        parameters: {
            query?: {
                /** @description Return only what was created at this time or later. */
                created_from?: components["parameters"]["CreatedFrom"];
                /** @description Return only what was created before this time. It must not be before `created_from`. */
                created_to?: components["parameters"]["CreatedTo"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
                /** @description Return only what was created with this reference. */
                reference?: components["parameters"]["ReferenceFilter"];
            };
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of balance transactions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceTransactionPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["OwnerProblem"];
        };
    };
    getCustomerProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    updateCustomerProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateCustomerProfileRequest"];
            };
        };
        responses: {
            /** @description The new profile. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 422: the request is invalid; `errors` names the members and parameters.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteCustomerProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The customer's ID, which is the `sub` of their tokens.
                 * @example sber-42
                 */
                customer_id: components["parameters"]["CustomerInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The customer has no profile any more. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["OwnerProblem"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An HTML page. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            default: components["responses"]["InternalProblem"];
        };
    };
    getDocsAsset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example swagger-ui.css */
                asset: components["parameters"]["AssetInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The asset. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            /** @description The asset has not changed. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 404: the resource does not exist.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Liveness"];
                };
            };
            default: components["responses"]["InternalProblem"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Requests can be served. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            503: components["responses"]["Unavailable"];
            default: components["responses"]["InternalProblem"];
        };
    };
    getIdempotencyKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The Idempotency-Key of the operation, as in the header.
                 * @example 5f0c6d1e-pay-1041
                 */
                key: components["parameters"]["KeyInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation runs, has taken effect, or was refused and the refusal is stored. */
            200: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After-When-In-Progress"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyRecord"];
                };
            };
            400: components["responses"]["KeyInvalid"];
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["LookupProblem"];
        };
    };
    getOpenAPI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OpenAPI document. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": unknown;
                };
            };
            /** @description The document has not changed. */
            304: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["InternalProblem"];
        };
    };
    listOrders: {
        parameters: {
            query?: {
                /** @description Return only what was created at this time or later. */
                created_from?: components["parameters"]["CreatedFrom"];
                /** @description Return only what was created before this time. It must not be before `created_from`. */
                created_to?: components["parameters"]["CreatedTo"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description Return only orders of this customer. */
                customer_id?: components["parameters"]["CustomerFilter"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
                /** @description Return only what was created with this reference. */
                reference?: components["parameters"]["ReferenceFilter"];
                /** @description Return only orders with this status. */
                status?: components["parameters"]["StatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["OwnerProblem"];
        };
    };
    createOrder: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateOrderRequest"];
            };
        };
        responses: {
            /** @description The order was created. It awaits payment, and its stock is reserved. */
            201: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description There is not enough stock, the customer has too many unpaid orders, the reference is taken, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is invalid, or its items cannot be ordered together. */
            422: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the Idempotency-Key is missing or invalid, or the request could not be read.
             *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOrderById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The order. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    cancelOrder: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelOrderRequest"];
            };
        };
        responses: {
            /** @description The cancelled order. */
            200: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The order cannot be cancelled in its current state, its payment is disputed, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["CommandProblem"];
        };
    };
    confirmPayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmPaymentRequest"];
            };
        };
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The balance is too low. A declined card is a payment that ends `failed`, with the reason in `failure`. */
            402: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The order cannot be paid in its current state, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The request is invalid, or the payment method is not available. */
            422: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["CommandProblem"];
        };
    };
    refundPayment: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefundPaymentRequest"];
            };
        };
        responses: {
            /** @description The refund. */
            200: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The payment cannot be refunded or is disputed, the amount exceeds the refundable amount, the reference is taken, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["CommandProblem"];
        };
    };
    listPayments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payments of the order. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentList"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    reserveInventory: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        /** @description Optional. If present, it must be an empty object. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReserveInventoryRequest"];
            };
        };
        responses: {
            /** @description The order with its extended reservation. */
            200: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The order does not await payment, its reservation was extended too often, there is not enough stock, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["CommandProblem"];
        };
    };
    updateOrderStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                order_id: components["parameters"]["OrderInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateOrderStatusRequest"];
            };
        };
        responses: {
            /** @description The order. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
             *     - 404: the resource does not exist.
             *     - 409: the order cannot change from its current status to this one, or its payment is disputed.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 422: the request is invalid; `errors` names the members and parameters.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    searchPayments: {
        parameters: {
            query?: {
                /** @description Return only what was created at this time or later. */
                created_from?: components["parameters"]["CreatedFrom"];
                /** @description Return only what was created before this time. It must not be before `created_from`. */
                created_to?: components["parameters"]["CreatedTo"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description Return only payments that a bank disputes and has not decided about. */
                disputed?: components["parameters"]["DisputedFilter"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
                /** @description Return only payments by this method. */
                method?: components["parameters"]["PaymentMethodFilter"];
                /** @description Return only payments with this status. */
                status?: components["parameters"]["PaymentStatusFilter"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of payments. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ListProblem"];
        };
    };
    getPayment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                payment_id: components["parameters"]["PaymentInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    listProducts: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of products. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProductPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ListProblem"];
        };
    };
    getProduct: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example tea */
                sku: components["parameters"]["ProductInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The product. */
            200: {
                headers: {
                    ETag: components["headers"]["Product-ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["LookupProblem"];
        };
    };
    putProduct: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of the product that you have seen, or a list of them. The request is refused with 412 `precondition_failed` unless the product has one of them. `*` requires only that the product exists, which is not enough to replace its stock. A tag that a compressing proxy has weakened (`W/"3"`) or extended (`"3-gzip"`) counts as `"3"`. */
                "If-Match"?: components["parameters"]["IfMatchHeader"];
            };
            path: {
                /** @example tea */
                sku: components["parameters"]["ProductInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutProductRequest"];
            };
        };
        responses: {
            /** @description The product was replaced. */
            200: {
                headers: {
                    ETag: components["headers"]["Product-ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
            /** @description The product was created. */
            201: {
                headers: {
                    ETag: components["headers"]["Product-ETag"];
                    Location: components["headers"]["Location"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
             *     - 409: `on_hand` is below the reserved quantity.
             *     - 412: the stock, the name or the price have changed since the version in `If-Match`, or there is no such product.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 422: the request is invalid; `errors` names the members and parameters.
             *     - 428: `on_hand` was sent for an existing product without its `ETag` in `If-Match`.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    adjustStock: {
        parameters: {
            query?: never;
            header: {
                /** @description Identifies the operation. Use one key for one operation: make it before the first attempt (a random UUID works well) and keep it through all retries. A new key is a new operation. 1–255 visible ASCII characters without `" , ; \`. A key in double quotes is the same key. */
                "Idempotency-Key": components["parameters"]["KeyHeader"];
            };
            path: {
                /** @example tea */
                sku: components["parameters"]["ProductInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdjustStockRequest"];
            };
        };
        responses: {
            /** @description The adjustment. */
            201: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StockAdjustment"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description The stock would be below the reserved quantity, the reference is taken, or the Idempotency-Key is in use. */
            409: {
                headers: {
                    "Idempotency-Expires": components["headers"]["Refusal-Idempotency-Expires"];
                    "Idempotency-Key": components["headers"]["Refusal-Idempotency-Key"];
                    "Idempotency-Result": components["headers"]["Refusal-Idempotency-Result"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After-When-Retryable"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["GuardedValidationFailed"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["CommandProblem"];
        };
    };
    getRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                refund_id: components["parameters"]["RefundInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refund. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    listWebhookEndpoints: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of endpoints. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ListProblem"];
        };
    };
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookEndpointRequest"];
            };
        };
        responses: {
            /** @description The endpoint was created. */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 403: the caller's roles do not permit this operation.
             *     - 409: you have an endpoint with this URL.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 422: the request is invalid; `errors` names the members and parameters.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint is deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    updateWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhookEndpointRequest"];
            };
        };
        responses: {
            /** @description The endpoint after the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknown"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 403: the caller's roles do not permit this operation, or the resource belongs to somebody else.
             *     - 404: the resource does not exist.
             *     - 409: the owner has an endpoint with this URL.
             *     - 413: the body is too large.
             *     - 415: the Content-Type is not `application/json`.
             *     - 422: the request is invalid; `errors` names the members and parameters.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["parameters"]["PageCursor"];
                /** @description The maximum number of entries on a page. */
                limit?: components["parameters"]["PageLimit"];
                /** @description Return only deliveries with this status. */
                status?: components["parameters"]["DeliveryStatusFilter"];
            };
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                delivery_id: components["parameters"]["DeliveryInPath"];
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery is queued. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint with the new secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    testWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1 */
                endpoint_id: components["parameters"]["EndpointInPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery is queued. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            429: components["responses"]["RateLimited"];
            503: components["responses"]["UnavailableOrUnknownOnce"];
            default: components["responses"]["ResourceProblem"];
        };
    };
    takeStripeWebhook: {
        parameters: {
            query?: never;
            header: {
                "Stripe-Signature": components["schemas"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookEvent"];
            };
        };
        responses: {
            /** @description The event has taken effect, now or earlier, or can never take effect. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookReceipt"];
                };
            };
            503: components["responses"]["UnavailableOrUnknown"];
            /**
             * @description Any other problem. `code` says which.
             *
             *     - 400: the request could not be read.
             *     - 404: the resource does not exist.
             *     - 413: the body is too large.
             *     - 500: an unexpected error occurred.
             */
            default: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}

/** How an operation succeeds: the statuses, the media type, and a member of the JSON body. */
export interface Success {
  statuses: number[];
  media: string;
  member?: string;
  type?: string;
}

/** The successes of the operations, by method and path. */
export const successes: Record<string, Success> = {
  'post /orders': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'get /orders': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /orders/{order_id}': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'post /orders/{order_id}/reservation': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'post /orders/{order_id}/payment/confirm': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'post /orders/{order_id}/payment/refund': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'get /orders/{order_id}/payments': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /payments': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /payments/{payment_id}': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'get /refunds/{refund_id}': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'post /orders/{order_id}/cancel': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'patch /orders/{order_id}/status': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'get /customers/{customer_id}/balance': {"statuses":[200],"media":"application/json","member":"customer_id","type":"string"},
  'post /customers/{customer_id}/balance/charge': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'post /customers/{customer_id}/balance/credit': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'get /customers/{customer_id}/balance/transactions': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /customers/{customer_id}/profile': {"statuses":[200],"media":"application/json","member":"customer_id","type":"string"},
  'put /customers/{customer_id}/profile': {"statuses":[200],"media":"application/json","member":"customer_id","type":"string"},
  'delete /customers/{customer_id}/profile': {"statuses":[204],"media":""},
  'get /products': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /products/{sku}': {"statuses":[200],"media":"application/json","member":"sku","type":"string"},
  'put /products/{sku}': {"statuses":[200,201],"media":"application/json","member":"sku","type":"string"},
  'post /products/{sku}/stock': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'post /webhook-endpoints': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'get /webhook-endpoints': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'get /webhook-endpoints/{endpoint_id}': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'patch /webhook-endpoints/{endpoint_id}': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'delete /webhook-endpoints/{endpoint_id}': {"statuses":[204],"media":""},
  'post /webhook-endpoints/{endpoint_id}/rotate-secret': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'post /webhook-endpoints/{endpoint_id}/test': {"statuses":[201],"media":"application/json","member":"id","type":"integer"},
  'get /webhook-endpoints/{endpoint_id}/deliveries': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'post /webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry': {"statuses":[200],"media":"application/json","member":"id","type":"integer"},
  'get /idempotency-keys/{key}': {"statuses":[200],"media":"application/json","member":"key","type":"string"},
  'get /admin/audit-log': {"statuses":[200],"media":"application/json","member":"data","type":"array"},
  'post /webhooks/stripe': {"statuses":[200],"media":"application/json"},
  'get /health/live': {"statuses":[200],"media":"application/json","member":"status","type":"string"},
  'get /health/ready': {"statuses":[200],"media":"application/json","member":"status","type":"string"},
  'get /openapi.yaml': {"statuses":[200],"media":"application/yaml"},
  'get /docs': {"statuses":[200],"media":"text/html"},
  'get /docs/{asset}': {"statuses":[200],"media":"*/*"},
};
