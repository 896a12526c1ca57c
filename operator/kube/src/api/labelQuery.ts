import type { LabelRequirement } from './selector.ts';

const setForm = /^([^\s!=,()]+)\s+(in|notin)\s+\(([^)]*)\)$/;
const equalForm = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s=,()]*)$/;

function parseOne(text: string): LabelRequirement {
  const set = setForm.exec(text);
  if (set) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return { key: set[1] ?? '', operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const equal = equalForm.exec(text);
  if (equal) return { key: equal[1] ?? '', operator: equal[2] === '!=' ? 'NotIn' : 'In', values: [equal[3] ?? ''] };
  if (/^![^\s!=,()]+$/.test(text)) return { key: text.slice(1), operator: 'DoesNotExist' };
  if (/^[^\s!=,()]+$/.test(text)) return { key: text, operator: 'Exists' };
  throw new SyntaxError(`label selector: cannot read ${JSON.stringify(text)}; write a=b, a!=b, a in (b,c), a notin (b), a or !a`);
}

/** Parses the query form of a label selector. Throws a SyntaxError that quotes the part it cannot read. */
export function parseSelector(query: string): readonly LabelRequirement[] {
  if (query.trim() === '') return [];
  // A comma inside parentheses separates values, not requirements.
  return query.split(/,(?![^(]*\))/).map((part) => parseOne(part.trim()));
}
