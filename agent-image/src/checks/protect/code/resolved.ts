// agent-image, checks/protect/code: Python whose names and code stand in its text. Imports nothing of the worker.

const text = String.raw`(?:"[\w.]*"|'[\w.]*')`;
const list = String.raw`[([{]\s*${text}(?:\s*,\s*${text})*\s*,?\s*[)\]}]`;
/** `for x in ("a", "b")`, `x = "a"`: the only ways in which a name is bound to literals. */
const bound = new RegExp(String.raw`(?<![\w.])(?:for[ \t]+(\w+)[ \t]+in[ \t]*(${list})|(\w+)[ \t]*=[ \t]*(${text})[ \t]*(?=$|[;#]))`, 'gm');
const words = new RegExp(text, 'g');

/** Most names that are looked for, and characters of a text in which they are: each is a walk over it. */
const maxNames = 8;
const maxText = 65_536;
const looking = /\bgetattr\s*\(\s*([A-Za-z_][\w.]*)\s*,\s*(\w+)\s*(?=[,)])/g;

/** Reports whether a name is bound so often, in whatever way. */
function isBoundBy(code: string, name: string, times: number): boolean {
  const any = new RegExp(
    [
      String.raw`(?<![\w.])(?:for\b[^\n]{0,200}?\b${name}\b[^\n]{0,200}?\bin\b`,
      String.raw`${name}\b[ \t)\]]*(?:[-+*/|&^%@<>]{0,3}=(?!=)|:[^\n=]{0,80}=(?!=)|,[^\n=]{0,200}=(?!=))`,
      String.raw`(?:as|case|global|nonlocal|import|class)\b[^\n]{0,200}?\b${name}\b`,
      String.raw`def\s+\w+\s*\([^)]{0,600}?\b${name}\b`,
      String.raw`lambda\b[^\n:]{0,200}?\b${name}\b)`,
    ].join('|'),
    'g',
  );
  return (code.match(any) ?? []).length === times;
}

/**
 * Python in which an attribute that is named by a literal stands as one, and evaluated literals as code, so that both are judged like any
 * other. What only a run would tell stays as it is. Pure.
 *
 * @example resolved('for n in ("add", "sub"):\n    getattr(calc, n)(1)'); // '… calc.add calc.sub(1)'
 */
export function resolved(code: string): string {
  if (code.length > maxText || !/\b(?:getattr|eval|exec)\b/.test(code)) return code;
  const wanted = new Set([...code.matchAll(looking)].map(([, , name = '']) => name));
  const found = Map.groupBy(
    [...code.matchAll(bound)].filter(([, inLoop, , own = inLoop ?? '']) => wanted.has(own)),
    ([, inLoop, , own = inLoop ?? '']) => own,
  );
  const literals = new Map(
    [...found]
      .slice(0, maxNames)
      .filter(([name, all]) => isBoundBy(code, name, all.length))
      .map(
        ([name, all]) =>
          [name, all.flatMap(([, , items, , one = items ?? '']) => (one.match(words) ?? []).map((word) => word.slice(1, -1)))] as const,
      ),
  );
  return code
    .replaceAll(looking, (all, object: string, name: string) => {
      const names = literals.get(name);
      return names === undefined ? all : `${names.map((one) => `${object}.${one}`).join(' ')} (getattr, `;
    })
    .replaceAll(
      /(?<![\w.])(?:eval|exec)\s*\(\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)')\s*(?=[,)])/g,
      (_, one?: string, other = one) => `(${String(other)}`,
    )
    .replaceAll(/(?<![\w.])exec\s*\(\s*open\s*\(\s*(?:"[\w./-]*\.py"|'[\w./-]*\.py')\s*\)\s*\.\s*read\s*\(\s*\)\s*(?=[,)])/g, '(');
}
