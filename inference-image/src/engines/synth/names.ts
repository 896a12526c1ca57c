/** Words of a name: `ROUND_HALF_UP` and `roundHalfUp` are round, half, up. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split('_')
    .filter((word) => word !== '');
}

/** Whether a name is written as constants are, in capitals. */
export const isConstant = (name: string): boolean => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(name) && name.length > 1;

/**
 * Whether two names look like members of one family: written in the same way, with the same first or last word.
 *
 * @example
 * areSiblings('ROUND_DOWN', 'ROUND_HALF_UP'); // true
 * areSiblings('read_text', 'write_text'); // true
 */
export function areSiblings(one: string, other: string): boolean {
  if (one === other || isConstant(one) !== isConstant(other) || /^[A-Z]/.test(one) !== /^[A-Z]/.test(other)) return false;
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (a.length < 2 || b.length < 2) return false;
  return a[0] === b[0] || a.at(-1) === b.at(-1);
}
