import { Type, type Static, type TArray, type TObject, type TProperties, type TSchema, type TString, type TUnsafe } from 'typebox';
import { rulesKey, type Rule } from './rule.ts';

/** What an object schema may carry besides its properties. */
export interface StructOptions {
  readonly rules?: readonly Rule[];
  /** Left out, the object is there all the same, with the defaults of its members. */
  readonly filled?: boolean;
  /** The whole object belongs to one manager: no fields inside it are tracked. */
  readonly atomic?: boolean;
}

/** Written out, because the API server checks the default of an object before it fills in those of its members. */
function defaultsOf(properties: TProperties): Readonly<Record<string, unknown>> {
  const entries = Object.entries(properties as Record<string, { readonly default?: unknown }>);
  return Object.fromEntries(
    entries.filter(([, { default: value }]) => value !== undefined).map(([name, { default: value }]) => [name, value]),
  );
}

/** An object with exactly these members. */
export function struct<P extends TProperties>(description: string, properties: P, options: StructOptions = {}): TObject<P> {
  return Type.Object(properties, {
    description,
    additionalProperties: false,
    ...(options.filled === true ? { default: defaultsOf(properties) } : {}),
    ...(options.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(options.rules === undefined ? {} : { [rulesKey]: options.rules }),
  });
}

/** Bounds of a list; `max` is never absent, because CEL's cost depends on it. */
export interface ListOptions {
  readonly max: number;
  readonly min?: number;
  readonly rules?: readonly Rule[];
  readonly default?: readonly string[];
}

function list<T extends TSchema>(description: string, items: T, options: ListOptions, kind: Readonly<Record<string, unknown>>): TArray<T> {
  return Type.Array(items, {
    description,
    maxItems: options.max,
    ...(options.min === undefined ? {} : { minItems: options.min }),
    ...(options.default === undefined ? {} : { default: options.default }),
    ...kind,
    ...(options.rules === undefined ? {} : { [rulesKey]: options.rules }),
  });
}

/** A list that is replaced as a whole. */
export function atomicList<T extends TSchema>(description: string, items: T, options: ListOptions): TArray<T> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'atomic' });
}

/** A list without duplicates whose order says nothing. */
export function setOf<T extends TString | TUnsafe<string>>(description: string, items: T, options: ListOptions): TArray<T> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'set' });
}

/** A list of objects that differ in `key`; the API server refuses two with the same. */
export function listByKey<P extends TProperties>(
  description: string,
  key: string & keyof P,
  items: TObject<P>,
  options: ListOptions,
): TArray<TObject<P>> {
  return list(description, items, options, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

/** A map from string to string, where Kubernetes itself has one (labels, annotations, selectors). */
export function mapOf(
  description: string,
  values: TString,
  options: { readonly max: number; readonly rules?: readonly Rule[] },
): TUnsafe<Record<string, Static<TString>>> {
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    description,
    additionalProperties: values,
    maxProperties: options.max,
    ...(options.rules === undefined ? {} : { [rulesKey]: options.rules }),
  });
}
