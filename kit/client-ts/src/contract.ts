import type { components, paths } from './api.gen.js';

/** The schemas of api/openapi.yaml by name. */
export type Schemas = components['schemas'];

/** The HTTP methods of the API. */
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that support a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends object ? P : never;
}[keyof paths];

/** An operation of the contract, by its method and path. */
export type OperationAt<M extends Method, P extends keyof paths> = paths[P][M];

type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 204)] : never;

/** What a success of an operation has in its body: undefined for 204. */
export type Data<O> =
  Success<O> extends { content: infer C } ? (C extends object ? C[keyof C] : undefined) : undefined;

type ParametersIn<O, In extends string> = O extends { parameters: { [K in In]?: infer V } }
  ? V
  : never;
type RequestBodyOf<O> = O extends { requestBody?: infer R } ? NonNullable<R> : never;
type BodyOf<O> = [RequestBodyOf<O>] extends [never]
  ? never
  : RequestBodyOf<O> extends { content: { 'application/json': infer B } }
    ? B
    : never;

// [V] extends [never] asks about V as a whole: never itself extends everything.
type Part<Name extends string, V> = [V] extends [never] ? unknown : { [K in Name]: V };
type OptionalPart<Name extends string, V> = [V] extends [never]
  ? unknown
  : { [K in Name]?: V | undefined };

/** What the caller decides about a request of an operation. */
export type Input<O> = Part<'path', NonNullable<ParametersIn<O, 'path'>>> &
  OptionalPart<'query', NonNullable<ParametersIn<O, 'query'>>> &
  Part<'body', BodyOf<O>>;
