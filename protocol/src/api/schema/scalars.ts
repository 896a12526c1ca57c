import { Type, type TBoolean, type TInteger, type TString, type TUnsafe } from 'typebox';
import { rule, withRules } from './rule.ts';

/** Limits of a string; `max` counts Unicode characters and is never absent, because CEL's cost depends on it. */
export interface TextOptions {
  readonly max: number;
  readonly min?: number;
  /** A regular expression that RE2 and ECMAScript read alike: no look-around, no back-references. */
  readonly pattern?: string;
  readonly default?: string;
}

/** A string. */
export function text(description: string, { max, min, pattern, default: value }: TextOptions): TString {
  return Type.String({
    description,
    maxLength: max,
    ...(min === undefined ? {} : { minLength: min }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(value === undefined ? {} : { default: value }),
  });
}

/** One of a closed set of CamelCase words. */
export function choice<const V extends readonly string[]>(description: string, values: V, fallback?: V[number]): TUnsafe<V[number]> {
  return Type.Unsafe<V[number]>({
    type: 'string',
    description,
    enum: [...values],
    maxLength: Math.max(...values.map((value) => value.length)),
    ...(fallback === undefined ? {} : { default: fallback }),
  });
}

/** A whole number between two bounds, both inclusive. */
export function integer(description: string, minimum: number, maximum: number, fallback?: number): TInteger {
  return Type.Integer({ description, minimum, maximum, ...(fallback === undefined ? {} : { default: fallback }) });
}

/** The largest integer that JSON readers agree on, 2^53 − 1. */
export const maxSafeInteger = Number.MAX_SAFE_INTEGER;

/** A count that grows without a bound of its own. */
export function counter(description: string): TInteger {
  return integer(description, 0, maxSafeInteger);
}

/** True or false. */
export function flag(description: string, fallback?: boolean): TBoolean {
  return Type.Boolean({ description, ...(fallback === undefined ? {} : { default: fallback }) });
}

const decimalPattern = '^-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,9})?$';
const weightPattern = '^(0|[1-9][0-9]{0,5})(\\.[0-9]{1,9})?$';
const probabilityPattern = '^(0(\\.[0-9]{1,9})?|1(\\.0{1,9})?)$';

/** A decimal number as a string: the API has no floats, because encoders disagree about them. */
export function decimal(description: string, fallback?: string): TString {
  return text(description, { max: 20, pattern: decimalPattern, ...(fallback === undefined ? {} : { default: fallback }) });
}

const moneyPattern = '^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$';

/** An amount of money in the currency of the pool, as a decimal string. */
export function money(description: string): TString {
  return text(description, { max: 16, min: 1, pattern: moneyPattern });
}

/** A decimal number that weighs something, 0 to 999999, as a string. */
export function weight(description: string, fallback: string): TString {
  return text(description, { max: 16, pattern: weightPattern, default: fallback });
}

/** A decimal number from 0 to 1 as a string. */
export function probability(description: string, fallback?: string): TString {
  return text(description, { max: 11, pattern: probabilityPattern, ...(fallback === undefined ? {} : { default: fallback }) });
}

/** A point in time, RFC 3339. */
export function timestamp(description: string): TString {
  return Type.String({ description, format: 'date-time', maxLength: 40 });
}

/** `sha256:` and 64 hexadecimal digits. */
export function digest(description: string): TString {
  return text(description, { max: 71, pattern: '^sha256:[0-9a-f]{64}$' });
}

/** Name of a snapshot as the keeper gives it. */
export function snapshotId(description: string): TString {
  return text(description, { max: 20, pattern: '^s[0-9]{4,19}$' });
}

const quantityPattern = '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$';

/** A positive amount of bytes such as `2Gi`. `path` is the field's name in messages. */
export function byteQuantity(description: string, path: string): TString {
  return withRules(
    text(description, { max: 20, min: 1, pattern: quantityPattern }),
    rule(
      "isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0",
      `${path} must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi`,
    ),
  );
}

/** An amount of a resource as pods write it: `2`, `500m` or `2Gi`. */
export function resourceQuantity(description: string): TUnsafe<string | number> {
  return Type.Unsafe<string | number>({
    description,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    maxLength: 20,
    pattern: quantityPattern,
    'x-kubernetes-int-or-string': true,
  });
}
