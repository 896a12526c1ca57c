// Every bound of every field, on a real API server: a value just outside is refused by name, one on the bound is
// accepted.
import { kinds, type Kind } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as example from './examples.ts';
import { fieldName, fieldPattern, places, withValue, type Node, type Place } from './fields.ts';
import { fullPolicy } from './rolloutExamples.ts';
import { collection, connect, createNamespace, enabled, install, whoAmI, type Answer, type Cause, type Server } from './server.ts';

interface Probe {
  readonly bound: string;
  readonly outside: unknown;
  readonly inside?: unknown;
  /** Part of the refusal. */
  readonly says: string;
}

/** Returns values to try at a place, by the bounds of its schema. */
function probes({ schema, value }: Place): readonly Probe[] {
  const { minimum, maximum, maxLength, minLength, maxItems, minItems, maxProperties } = schema as Readonly<Record<string, number>>;
  const items = value as readonly unknown[];
  const text = (length: number): string => 'a'.repeat(length);
  const entries = (count: number): Node => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'v']));
  const found: Probe[] = [];
  if (minimum !== undefined) found.push({ bound: 'minimum', outside: minimum - 1, inside: minimum, says: 'greater than or equal to' });
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    found.push({ bound: 'maximum', outside: maximum + 1, inside: maximum, says: 'less than or equal to' });
  if (schema['enum'] !== undefined) found.push({ bound: 'enum', outside: 'Other', says: 'Unsupported value' });
  else if (maxLength !== undefined)
    found.push({ bound: 'maxLength', outside: text(maxLength + 1), inside: text(maxLength), says: 'Too long' });
  if (minLength !== undefined && minLength > 0) found.push({ bound: 'minLength', outside: '', says: 'at least' });
  if (schema['pattern'] !== undefined)
    found.push({ bound: 'pattern', outside: '\u0007'.repeat(Math.max(1, minLength ?? 0)), says: 'should match' });
  if (schema['format'] === 'date-time') found.push({ bound: 'format', outside: 'soon', says: 'must be of type date-time' });
  if (maxItems !== undefined)
    found.push({ bound: 'maxItems', outside: Array.from({ length: maxItems + 1 }, () => items[0]), says: 'Too many' });
  if (minItems !== undefined && minItems > 0) found.push({ bound: 'minItems', outside: [], says: 'at least' });
  if (maxProperties !== undefined)
    found.push({ bound: 'maxProperties', outside: entries(maxProperties + 1), inside: entries(maxProperties), says: 'Too many' });
  return found;
}

interface Subject {
  readonly kind: Kind;
  readonly part: 'spec' | 'status';
  readonly objects: readonly Node[];
  /** Fields that a rule refuses on this kind, whatever they hold, and that another kind shows. */
  readonly refused?: RegExp;
}

const byName = (name: string): Kind => kinds.find(({ kind }) => kind === name)!;
const tasks = Object.values(example.workspaces).map(example.fullTask);
const subjects: readonly Subject[] = [
  { kind: byName('AgentTask'), part: 'spec', objects: tasks },
  { kind: byName('AgentTask'), part: 'status', objects: [{ ...tasks[0], status: example.fullTaskStatus }] },
  { kind: byName('AgentTaskOrder'), part: 'spec', objects: [...Object.values(example.orders), example.rolloutOrder] },
  { kind: byName('AgentTaskOrder'), part: 'status', objects: [{ ...example.orders['Cancel'], status: example.fullOrderStatus }] },
  { kind: byName('ExpertPool'), part: 'spec', objects: [example.fullPool] },
  { kind: byName('ExpertPool'), part: 'status', objects: [{ ...example.fullPool, status: example.fullPoolStatus }] },
  { kind: byName('EnergyModel'), part: 'spec', objects: [example.fullModel] },
  { kind: byName('RolloutPolicy'), part: 'spec', objects: [fullPolicy] },
  { kind: byName('PoolGrant'), part: 'spec', objects: [example.fullGrant] },
  { kind: byName('ExpertScale'), part: 'spec', objects: [example.fullScale] },
  { kind: byName('ExpertScale'), part: 'status', objects: [{ ...example.fullScale, status: example.fullScaleStatus }] },
  { kind: byName('EnergyModel'), part: 'status', objects: [{ ...example.fullModel, status: example.fullModelStatus }] },
];

const schemaOf = ({ kind, part }: Subject): Node => kind[part] as Node;

/** Lists all fields of a schema, in the spelling of the reference. */
function allFields(schema: Node, path: string): readonly string[] {
  const below = (schema['items'] ?? schema) as Node;
  const prefix = schema['items'] === undefined ? path : `${path}[]`;
  const own = schema['items'] === undefined ? [] : [prefix];
  return [
    ...own,
    ...Object.entries((below['properties'] ?? {}) as Record<string, Node>).flatMap(([name, child]) => [
      `${prefix}.${name}`,
      ...allFields(child, `${prefix}.${name}`),
    ]),
  ];
}

function subjectPlaces({ kind, part, objects }: Subject): readonly (Place & { readonly object: Node })[] {
  const seen = new Set<string>();
  return objects.flatMap((object) =>
    places(kind[part] as Node, object[part], [part])
      .filter(({ path }) => !seen.has(fieldPattern(path)) && seen.add(fieldPattern(path)))
      .map((place) => Object.assign({ object }, place)),
  );
}

const causesAt = ({ body }: Answer, field: string): readonly Cause[] =>
  (body.details?.causes ?? []).filter((cause) => cause.field?.startsWith(field) === true);

/** Requests in flight: dry runs do not affect one another. */
const width = 8;

/** Returns the results of `faults` for each item, in their order. */
async function faultsOf<T>(items: readonly T[], faults: (item: T) => Promise<readonly string[]>): Promise<readonly string[]> {
  const found: (readonly string[])[] = items.map(() => []);
  const rest = items.entries();
  const lane = async (): Promise<void> => {
    for (const [at, item] of rest) found[at] = await faults(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return found.flat();
}

describe.runIf(enabled)('bounds of the custom resources', () => {
  let server: Server;
  let namespace: string;
  let user: string;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    user = await whoAmI(server);
    namespace = await createNamespace(server);
    for (const { kind, part, objects } of subjects)
      if (part === 'status') {
        const { status } = await server.ask('POST', collection(namespace, kind.plural), { body: asCaller(objects[0]!) });
        expect(status).toBe(201);
      }
  }, 60_000);

  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  const asCaller = (object: Node): Node => (object['kind'] === 'AgentTaskOrder' ? withValue(object, 'spec.requester', user) : object);

  const write = async ({ kind, part }: Subject, object: Node): Promise<Answer> => {
    const query = 'dryRun=All&fieldValidation=Strict';
    const path = collection(namespace, kind.plural);
    if (part === 'spec') return server.ask('POST', `${path}?${query}`, { body: withValue(object, 'metadata', { generateName: 'probe-' }) });
    const { name } = object['metadata'] as { name: string };
    const body = { apiVersion: object['apiVersion'], kind: object['kind'], status: object['status'] };
    return server.ask('PATCH', `${path}/${name}/status?${query}`, { body, type: 'application/merge-patch+json' });
  };

  describe.for(subjects.map((subject) => [`${subject.kind.kind}.${subject.part}`, subject] as const))('%s', ([, subject]) => {
    it('has an example of every field', () => {
      const shown = new Set(subjectPlaces(subject).map(({ path }) => fieldPattern(path)));
      const hidden = allFields(schemaOf(subject), subject.part).filter((field) => !shown.has(field));
      expect(hidden.filter((field) => subject.refused?.test(field) !== true)).toEqual([]);
    });

    it('refuses values outside a bound, and accepts those on it', async () => {
      const tries = subjectPlaces(subject).flatMap((place) => probes(place).map((probe) => ({ place, probe })));
      const wrong = await faultsOf(tries, async ({ place, probe: { bound, outside, inside, says } }) => {
        const field = fieldName(place.path);
        const faults: string[] = [];
        const refused = await write(subject, withValue(place.object, place.path, outside));
        const mentions = causesAt(refused, field).some(({ message }) => message.includes(says));
        if (refused.status !== 422 || !mentions) faults.push(`${field} ${bound}: ${refused.status} ${refused.body.message}`);
        if (inside === undefined) return faults;
        const taken = await write(subject, withValue(place.object, place.path, inside));
        const bounded = causesAt(taken, field).some(({ message }) => message.includes(says));
        return bounded ? [...faults, `${field} ${bound}, on it: ${taken.body.message}`] : faults;
      });
      expect(wrong).toEqual([]);
      expect(tries.length).toBeGreaterThan(2);
    });

    it('refuses unknown fields at every level', async () => {
      const levels = subjectPlaces(subject).filter(({ schema }) => schema['properties'] !== undefined);
      const wrong = await faultsOf(levels, async ({ path, object }) => {
        const { status, body } = await write(subject, withValue(object, [...path, 'surprise'], 1));
        const named = body.message?.includes(`unknown field "${fieldName(path)}.surprise"`) === true;
        return status < 400 || !named ? [`${fieldName(path)}: ${status} ${body.message?.slice(-200)}`] : [];
      });
      expect(wrong).toEqual([]);
    });

    it('refuses an object without a required field', async () => {
      const required = subjectPlaces(subject).flatMap(({ path, schema, object }) => {
        const properties = (schema['properties'] ?? {}) as Record<string, Node>;
        const names = ((schema['required'] ?? []) as readonly string[]).filter((name) => !('default' in properties[name]!));
        return names.map((name) => ({ path: [...path, name], field: `${fieldName(path)}.${name}`, object }));
      });
      const wrong = await faultsOf(required, async ({ path, field, object }) => {
        // A merge patch cannot leave a member of a stored object out; null removes it.
        const { status, body } = await write(subject, withValue(object, path, subject.part === 'spec' ? undefined : null));
        const named = body.message?.includes(`${field}: Required value`) === true;
        return status !== 422 || !named ? [`${field}: ${status} ${body.message?.slice(-200)}`] : [];
      });
      expect(wrong).toEqual([]);
    });
  });
});
