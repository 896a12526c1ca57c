import { matchesLabels, type LabelRequirement } from '../api/selector.ts';
import { at, type Stored } from './json.ts';
import type { KindDefinition } from './kinds.ts';
import { badRequest } from './status.ts';

export type Selection = (object: Stored) => boolean;

/** Fields that can be selected are strings, numbers or booleans; an absent one is empty. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

function fieldSelection(kind: KindDefinition, query: string): Selection {
  const parts = query.split(',').filter((part) => part !== '');
  const checks = parts.map((part): Selection => {
    const [, path = '', operator, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? [];
    const known = ['metadata.name', 'metadata.namespace', ...(kind.selectableFields ?? [])];
    if (!known.includes(path)) throw badRequest(`field label not supported: ${path}`);
    return (object) => (textOf(at(object, path)) === value) === (operator !== '!=');
  });
  return (object) => checks.every((check) => check(object));
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

/** Returns the selection of the selectors and the namespace of a request. Throws a 400 for a selector that it cannot read. */
export function selectionOf(kind: KindDefinition, namespace: string | undefined, query: URLSearchParams): Selection {
  let requirements: readonly LabelRequirement[];
  try {
    requirements = parseSelector(query.get('labelSelector') ?? '');
  } catch (error) {
    throw badRequest(`unable to parse requirement: ${(error as Error).message}`);
  }
  const fields = fieldSelection(kind, query.get('fieldSelector') ?? '');
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    matchesLabels(object.metadata.labels, requirements) &&
    fields(object);
}
