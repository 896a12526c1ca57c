const digits = /^(0|[1-9][0-9]*)$/;

/**
 * Orders resource versions of one resource: negative when `a` is older. Versions are decimal integers of any
 * length, and ordered per resource (KEP-5504, stable in 1.35); never parsed to a double, which has 53 bits.
 * Undefined when one of them is not such a number.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined || !digits.test(a) || !digits.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True when `seen` is `wanted` or newer, or when they cannot be compared. */
export function atLeast(seen: string | undefined, wanted: string): boolean {
  const order = compareVersions(seen, wanted);
  return order === undefined ? seen !== undefined : order >= 0;
}
