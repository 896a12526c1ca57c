// agent-image, base: helpers for text, JSON and shell words. May import protocol, kube and the keeper's client, no other folder.

/** A text of at most `most` characters (code points, so that none is cut in two); a longer one ends with an ellipsis. */
export function shortened(text: string, most: number): string {
  const points = Array.from(text);
  return points.length <= most ? text : `${points.slice(0, Math.max(0, most - 1)).join('')}…`;
}

/** Most levels of objects and lists in JSON: writing a value, and most of what walks one, takes room on the stack for each. */
const mostLevels = 500;

/** The value of a JSON text; undefined for any other text, and for one of more than 500 levels. */
export function jsonIn(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    let level: readonly unknown[] = [value];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > mostLevels) return undefined;
      level = level.flatMap((one) => (typeof one === 'object' && one !== null ? (Object.values(one) as readonly unknown[]) : []));
    }
    return value;
  } catch {
    return undefined;
  }
}

/** Strings of JSON, also one without an end, so that none is looked for in it; and commas before an end. */
const stringsAndCommas = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|,(?=\s*[}\]])/g;
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f]/g;

/** The value of JSON as models write it: line feeds in strings need no escape, and a comma may stand before an end; undefined for any other text. */
export function looseJson(text: string): unknown {
  const escaped = (one: string): string => (one === ',' ? '' : one.replaceAll(controls, (control) => JSON.stringify(control).slice(1, -1)));
  return jsonIn(text) ?? jsonIn(text.replaceAll(stringsAndCommas, escaped));
}

/** The object that a model wrote as JSON, also one that it encoded twice; undefined for any other text. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  const value = looseJson(text);
  const object = typeof value === 'string' ? looseJson(value) : value;
  return typeof object === 'object' && object !== null && !Array.isArray(object) ? (object as Record<string, unknown>) : undefined;
}

/** A word as a POSIX shell reads it back unchanged. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command as a line for a shell. */
export const line = (argv: readonly string[]): string => argv.map(quote).join(' ');

/** Words of a refusal that no rule is behind. */
export const learnedScore = 'a learned score';
