/** Splits "PQ 84.3 b" into letters, number and the rest. */
export function parseCallNumber(text) {
  const match = /^([A-Z]+) ?(\d+(?:\.\d+)?) ?(.*)$/.exec(text);
  if (!match) throw new Error(`no call number: ${text}`);
  const [, letters, number, rest] = match;
  return { letters, number, rest };
}

/** Order on the shelf. */
export function compareCallNumbers(one, other) {
  const a = parseCallNumber(one);
  const b = parseCallNumber(other);
  if (a.letters !== b.letters) return a.letters < b.letters ? -1 : 1;
  if (a.number !== b.number) return a.number < b.number ? -1 : 1;
  return a.rest < b.rest ? -1 : 1;
}
