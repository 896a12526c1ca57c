const factors: Readonly<Record<string, bigint>> = {
  '': 1n,
  k: 10n ** 3n,
  M: 10n ** 6n,
  G: 10n ** 9n,
  T: 10n ** 12n,
  P: 10n ** 15n,
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
};

/**
 * Bytes of a Kubernetes quantity of memory, rounded up: `40Gi`, `42949672960`, `39.5Gi`.
 * @returns undefined when it is none
 */
export function bytesOf(quantity: string | undefined): number | undefined {
  const match = /^(\d{1,15})(?:\.(\d{1,9}))?(|[kMGTP]|[KMGTP]i)$/.exec(quantity ?? '');
  if (match === null) return undefined;
  const [, whole = '0', fraction = '', unit = ''] = match;
  const factor = factors[unit] ?? 1n;
  const scale = 10n ** BigInt(fraction.length);
  const bytes = (BigInt(whole + fraction) * factor + scale - 1n) / scale;
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(bytes);
}
