/**
 * The rules of a kind's schema as one admission policy. The API server evaluates rules of a schema at each write of the status as well; a policy
 * is asked about writes of the object alone. Imports the schemas' vocabulary.
 */
import type { Kind, Node } from '../crd/definition.ts';
import { mutabilityOf, rulesOf, type Mutability, type Rule } from '../schema/index.ts';
import type { AdmissionPolicy } from './policy.ts';

/** Place at which the rules of a node apply, as CEL. */
interface Place {
  readonly now: string;
  /** The same place before the write; undefined below a list, whose elements have no counterpart. */
  readonly before?: string;
  /** Members on the way that may be absent, from the outermost on: `[object, member]`. */
  readonly optional: readonly (readonly [string, string])[];
  /** The list that `now` is an element of: its name in messages, its members on the way, and the key of its elements. */
  readonly list?: { readonly name: string; readonly now: string; readonly key: string; readonly optional: Place['optional'] };
  readonly mutability: Mutability;
}

/** A list of messages as a CEL expression, and at which writes it may hold any. */
interface Part {
  readonly at: 'Create' | 'Update' | 'Both';
  readonly expression: string;
}

const element = 'each';

/** An expression over `self` and `oldSelf`, said of a place; quoted text is left alone. Pure. */
function saidOf(expression: string, self: string, oldSelf: string): string {
  return expression.replaceAll(/'(?:[^'\\]|\\.)*'|\b(?:oldSelf|self)\b/g, (found) =>
    found === 'self' ? self : found === 'oldSelf' ? oldSelf : found,
  );
}

const present = (members: Place['optional']): readonly string[] => members.map(([of, member]) => `has(${of}.${member})`);

/** `object.spec.x` before the write. */
const earlier = (path: string): string => path.replace(/^object\b/, 'oldObject');

const all = (conditions: readonly string[]): string => conditions.join(' && ');

/** A message that is fixed; below a list it names the element by its key instead of `[]`. */
function messageOf({ message, messageExpression }: Rule, place: Place): string {
  if (messageExpression !== undefined) return saidOf(messageExpression, place.now, place.before ?? '');
  const words = JSON.stringify(message);
  const { list } = place;
  return list === undefined ? words : words.replaceAll(`${list.name}[]`, `${list.name}[" + ${element}.${list.key} + "]`);
}

function partOf(rule: Rule, place: Place): Part {
  const { now, before, optional, list } = place;
  const broken = `!(${saidOf(rule.rule, now, before ?? '')})`;
  const message = messageOf(rule, place);
  const transition = /\boldSelf\b/.test(rule.rule);
  if (transition && before === undefined) throw new Error(`a rule over a change cannot stand below a list: ${rule.message}`);
  const at = transition ? 'Update' : place.mutability === 'Immutable' ? 'Create' : 'Both';
  if (list !== undefined) {
    const found = `${list.now}.filter(${element}, ${all([...present(optional), broken])}).map(${element}, ${message})`;
    return { at, expression: list.optional.length === 0 ? found : `(${all(present(list.optional))} ? ${found} : [])` };
  }
  const was = optional.map(([of, member]) => [earlier(of), member] as const);
  const conditions = [...present(optional), ...(transition ? present(was) : []), broken];
  return { at, expression: `(${all(conditions)} ? [${message}] : [])` };
}

/** All rules at and below a node. */
function partsOf(node: Node, place: Place, name: string): readonly Part[] {
  const mutability = mutabilityOf(node) ?? place.mutability;
  const here = { ...place, mutability };
  const own = rulesOf(node).map((rule) => partOf(rule, here));
  const items = node['items'] as Node | undefined;
  if (items !== undefined) return [...own, ...elementParts(items, here, name, node)];
  const needed = (node['required'] ?? []) as readonly string[];
  const below = Object.entries((node['properties'] ?? {}) as Record<string, Node>).flatMap(([member, child]) => {
    const optional = needed.includes(member) ? place.optional : [...place.optional, [place.now, member] as const];
    const { before } = place;
    const next = { ...here, now: `${place.now}.${member}`, ...(before === undefined ? {} : { before: `${before}.${member}` }), optional };
    return partsOf(child, next, `${name}.${member}`);
  });
  return [...own, ...below];
}

function elementParts(items: Node, place: Place, name: string, { 'x-kubernetes-list-map-keys': keys }: Node): readonly Part[] {
  const [key] = (keys ?? []) as readonly string[];
  const list = { name, now: place.now, key: key ?? '', optional: place.optional };
  const parts = partsOf(items, { now: element, optional: [], list, mutability: place.mutability }, `${name}[]`);
  if (parts.length > 0 && (key === undefined || place.list !== undefined))
    throw new Error(`rules of the elements of ${name} need a key that names them, and no list around; state them of the list`);
  return parts;
}

/** Joins lists of messages; undefined where there are none. */
function joined(parts: readonly Part[]): string | undefined {
  const at = (when: Part['at']): string =>
    parts
      .filter((part) => part.at === when)
      .map(({ expression }) => expression)
      .join(' + ') || '[]';
  const [create, update, both] = [at('Create'), at('Update'), at('Both')];
  if (create === '[]' && update === '[]') return both === '[]' ? undefined : both;
  const either = `(oldObject == null ? ${create} : ${update})`;
  return both === '[]' ? either : `${both} + ${either}`;
}

/** Characters of a refusal; the API server leaves out words of more than 5 KiB. */
const shown = 4000;

/**
 * The policy that holds an object of `kind` to the rules of its spec. It answers with all that is wrong. What has been let in stays in: a write
 * that leaves the spec as it is passes, and fields that never change are judged once.
 */
export function specRules(kind: Kind): AdmissionPolicy {
  const spec = kind.spec as Node;
  const root: Place = { now: 'object', before: 'oldObject', optional: [], mutability: 'Mutable' };
  const place: Place = { now: 'object.spec', before: 'oldObject.spec', optional: [], mutability: mutabilityOf(spec) ?? 'Mutable' };
  const fields = (spec['properties'] ?? {}) as Record<string, Node>;
  const groups: readonly (readonly [string, readonly Part[]])[] = [
    ['whole', [...kind.rules.map((rule) => partOf(rule, root)), ...rulesOf(spec).map((rule) => partOf(rule, place))]],
    ...Object.keys(fields).map(
      (name) => [name, partsOf({ ...spec, properties: { [name]: fields[name] }, 'x-kubernetes-validations': [] }, place, 'spec')] as const,
    ),
  ];
  const variables = groups.flatMap(([name, parts]) => {
    const expression = joined(parts);
    return expression === undefined ? [] : [{ name, expression }];
  });
  const failed = variables.map(({ name }) => `variables.${name}`).join(' + ');
  return {
    name: `${kind.kind.toLowerCase()}-spec`,
    purpose: `Holds ${kind.plural} to the rules of their spec, without a cost for writes of the status.`,
    operations: ['CREATE', 'UPDATE'],
    resource: kind.plural,
    conditions: [{ name: 'spec-is-new', expression: 'oldObject == null || object.spec != oldObject.spec' }],
    variables: [...variables, { name: 'failed', expression: failed }, { name: 'message', expression: "variables.failed.join('; ')" }],
    validations: [
      {
        expression: 'variables.failed.size() == 0',
        message: `spec must keep to the rules of ${kind.kind} in docs/reference/api.md`,
        messageExpression: `variables.message.size() > ${shown} ? variables.message.substring(0, ${shown}) : variables.message`,
        reason: 'Invalid',
      },
    ],
  };
}
