import { parseSelector, matchesLabels } from '../api/selector.ts';
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

/** Returns the selection of the selectors and the namespace of a request. Throws a 400 for a selector that it cannot read. */
export function selectionOf(kind: KindDefinition, namespace: string | undefined, query: URLSearchParams): Selection {
  let requirements: ReturnType<typeof parseSelector>;
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
