import type { KubeObject } from './resource.ts';

/** `metav1.LabelSelectorRequirement`. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** `metav1.LabelSelector`. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

type Labels = Readonly<Record<string, string>>;

/** All requirements of a selector as one list; an empty selector matches everything. */
export function requirementsOf(selector: LabelSelector): readonly LabelRequirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]): LabelRequirement => ({
    key,
    operator: 'In',
    values: [value],
  }));
  return [...equal, ...(selector.matchExpressions ?? [])];
}

/** Reports whether labels satisfy every requirement. A missing key satisfies NotIn, as in apimachinery. */
export function matchesLabels(labels: Labels | undefined, requirements: readonly LabelRequirement[]): boolean {
  return requirements.every((requirement) => satisfies(labels?.[requirement.key], requirement));
}

function satisfies(value: string | undefined, { operator, values = [] }: LabelRequirement): boolean {
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  return (value !== undefined) === (operator === 'Exists');
}

/** A predicate over objects. */
export function labelMatcher(selector: LabelSelector): (object: KubeObject) => boolean {
  const requirements = requirementsOf(selector);
  return (object) => matchesLabels(object.metadata.labels, requirements);
}

/** The query form: `a=b,c in (d,e),f,!g`. */
export function formatSelector(selector: LabelSelector): string {
  return requirementsOf(selector).map(formatOne).join(',');
}

function formatOne({ key, operator, values = [] }: LabelRequirement): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  if (operator === 'NotIn') return `${key} notin (${values.join(',')})`;
  return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
}

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
