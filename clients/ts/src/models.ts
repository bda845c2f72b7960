import type { Schemas } from './contract.js';

// The names of the contract, for the signatures of the client and for its callers.
export type Money = Schemas['Money'];
export type Order = Schemas['Order'];
export type CreateOrderRequest = Schemas['CreateOrderRequest'];
export type CancelOrderRequest = Schemas['CancelOrderRequest'];
export type UpdateOrderStatusRequest = Schemas['UpdateOrderStatusRequest'];
export type Payment = Schemas['Payment'];
export type PaymentWithRefunds = Schemas['PaymentWithRefunds'];
export type PaymentList = Schemas['PaymentList'];
export type ConfirmPaymentRequest = Schemas['ConfirmPaymentRequest'];
export type Refund = Schemas['Refund'];
export type RefundPaymentRequest = Schemas['RefundPaymentRequest'];
export type Balance = Schemas['Balance'];
export type BalanceTransaction = Schemas['BalanceTransaction'];
export type ChargeBalanceRequest = Schemas['ChargeBalanceRequest'];
export type CreditBalanceRequest = Schemas['CreditBalanceRequest'];
export type Profile = Schemas['Profile'];
export type UpdateCustomerProfileRequest = Schemas['UpdateCustomerProfileRequest'];
export type Product = Schemas['Product'];
export type PutProductRequest = Schemas['PutProductRequest'];
export type StockAdjustment = Schemas['StockAdjustment'];
export type AdjustStockRequest = Schemas['AdjustStockRequest'];
export type AuditEntry = Schemas['AuditEntry'];
export type IdempotencyRecord = Schemas['IdempotencyRecord'];
export type Health = Schemas['Health'];
export type WebhookEvent = Schemas['WebhookEvent'];
export type WebhookReceipt = Schemas['WebhookReceipt'];
