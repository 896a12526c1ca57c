import type { Price } from '../../gateway/index.ts';

/** Millionths in one unit of the currency. */
const scale = 1_000_000n;

/**
 * Amount in millionths of the currency, the unit of all arithmetic with money. What is below a millionth is rounded up.
 *
 * @throws RangeError for what is no decimal number without a sign
 * @example
 * toMicros('1.25'); // 1250000n
 */
export function toMicros(decimal: string): bigint {
  const { digits, power } = parse(decimal);
  return ceilDivide(digits * scale, power);
}

/**
 * Decimal string of an amount in millionths, without zeros at its end.
 *
 * @example
 * fromMicros(1_250_000n); // '1.25'
 */
export function fromMicros(micros: bigint): string {
  const rest = String(micros % scale)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${micros / scale}${rest === '' ? '' : `.${rest}`}`;
}

/** Exact sum of two amounts, decimal strings. */
export function addMoney(a: string, b: string): string {
  return fromMicros(toMicros(a) + toMicros(b));
}

/** Tokens of one request or of many; `cachedInput` is a part of `input`. */
export interface PricedTokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** Returns the cost of tokens, in whole millionths of the currency, rounded up once. */
export function costInMicros(price: Price, { input, cachedInput, output }: PricedTokens): number {
  const parts = [
    [parse(price.input), Math.max(0, input - cachedInput)],
    [parse(price.cachedInput), cachedInput],
    [parse(price.output), output],
  ] as const;
  const common = parts.reduce((most, [{ power }]) => (power > most ? power : most), 1n);
  // A price is that of a million tokens, so that tokens × price is in millionths already.
  const sum = parts.reduce((total, [{ digits, power }, tokens]) => total + BigInt(tokens) * digits * (common / power), 0n);
  return Number(ceilDivide(sum, common));
}

/** `1.25` → 125 and 100. */
function parse(decimal: string): { readonly digits: bigint; readonly power: bigint } {
  const found = /^([0-9]+)(?:\.([0-9]+))?$/.exec(decimal);
  if (found === null) throw new RangeError(`${decimal} is no decimal number without a sign; write it like 1.25`);
  const [, whole = '', rest = ''] = found;
  return { digits: BigInt(whole + rest), power: 10n ** BigInt(rest.length) };
}

function ceilDivide(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
