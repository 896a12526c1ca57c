// Every rule of every kind on a real API server: what it lets pass, what it refuses, and in which words.
import { kinds, rulesOf } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullModel } from './modelExamples.ts';
import { fullPool } from './poolExamples.ts';
import { fullPolicy } from './rolloutExamples.ts';
import { fieldName, withValue, withValues, type Node } from './fields.ts';
import { ruleCases } from './ruleCases.ts';
import { collection, connect, createNamespace, enabled, install, whoAmI, type Answer, type Server } from './server.ts';
import { allowedChanges, runningTask, transitionCases } from './transitionCases.ts';

/** The messages of all rules at and below a schema. */
function messages(schema: Node): readonly string[] {
  const below = [
    ...Object.values((schema['properties'] ?? {}) as Record<string, Node>),
    ...(schema['items'] === undefined ? [] : [schema['items'] as Node]),
  ];
  return [...rulesOf(schema).map(({ message }) => message), ...below.flatMap(messages)];
}

describe('table of rules', () => {
  it('has a case for every rule', () => {
    const tested = new Set([...ruleCases.map(({ message }) => message), ...transitionCases.map(({ rule }) => rule)]);
    const rules = kinds.flatMap((kind) => [...kind.rules.map(({ message }) => message), ...messages(kind.spec as Node)]);
    expect(rules.filter((message) => !tested.has(message))).toEqual([]);
    expect(rules.length).toBeGreaterThan(80);
  });
});

const full = { ExpertPool: fullPool, EnergyModel: fullModel, RolloutPolicy: fullPolicy } as const;

const title = (changes: Readonly<Record<string, unknown>>): string =>
  Object.entries(changes)
    .map(([field, value]) => `${fieldName(field.split('.'))} = ${(JSON.stringify(value) ?? 'absent').slice(0, 60)}`)
    .join(', ');

describe.runIf(enabled)('rules of the custom resources', () => {
  let server: Server;
  let namespace: string;
  let user: string;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    user = await whoAmI(server);
  }, 60_000);

  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  const pathOf = (object: Node): string => collection(namespace, kinds.find(({ kind }) => kind === object['kind'])!.plural);
  const asCaller = (object: Node): Node => (object['kind'] === 'AgentTaskOrder' ? withValue(object, 'spec.requester', user) : object);
  const tryCreate = (object: Node): Promise<Answer> =>
    server.ask('POST', `${pathOf(object)}?dryRun=All&fieldValidation=Strict`, { body: asCaller(object) });

  it.for(ruleCases.map((row) => [title(row.refused), row] as const))('refuses %s', async ([, { base, passes, refused, message }]) => {
    const good = await tryCreate(withValues(base, passes));
    expect(good.body.message).toBeUndefined();
    expect(good.status).toBe(201);
    const bad = await tryCreate(withValues(base, refused));
    expect(bad.body.message).toContain(message);
    expect(bad.status).toBe(422);
  });

  const stored = async (object: Node): Promise<Node> => {
    const { metadata } = object as { metadata: Node };
    const { status, body } = await server.ask('POST', pathOf(object), {
      body: asCaller({ ...object, metadata: { ...metadata, name: undefined, generateName: 'change-' } }),
    });
    expect(body.message).toBeUndefined();
    expect(status).toBe(201);
    return body as unknown as Node;
  };
  const tryReplace = (object: Node): Promise<Answer> => {
    const { name } = object['metadata'] as { name: string };
    return server.ask('PUT', `${pathOf(object)}/${name}?dryRun=All&fieldValidation=Strict`, { body: object });
  };

  it.for(transitionCases.map((row) => [title(row.refused), row] as const))(
    'refuses the change to %s',
    async ([, { base, passes, refused, says }]) => {
      const before = await stored(base);
      const good = await tryReplace(withValues(before, passes));
      expect(good.body.message).toBeUndefined();
      const bad = await tryReplace(withValues(before, refused));
      expect(bad.body.message).toContain(says);
      expect(bad.status).toBe(422);
    },
  );

  it.for(allowedChanges.map((changes) => [title(changes), changes] as const))('lets a running task change to %s', async ([, changes]) => {
    const { status, body } = await tryReplace(withValues(await stored(runningTask), changes));
    expect(body.message).toBeUndefined();
    expect(status).toBe(200);
  });

  it.for([
    'goalFrom',
    'roots',
    'output.artifactsURI',
    'workspace.archive',
    'workspace.claim',
    'budget.cpuSeconds',
    'snapshots.riskThreshold',
    'sandbox.imagePullSecrets',
  ])('refuses spec.%s, which nothing obeys yet', async (field) => {
    const { status, body } = await tryCreate(withValue(runningTask, `spec.${field}`, {}));
    expect(status).toBe(400);
    expect(body.message).toContain(`unknown field "spec.${field}"`);
  });

  it.for([['spec.workspace.type', 'Claim']] as const)('refuses %s: %s, which nothing obeys yet', async ([field, value]) => {
    const { status, body } = await tryCreate(withValue(runningTask, field, value));
    expect(status).toBe(422);
    expect(body.message).toContain(`Unsupported value: "${value}"`);
  });

  it.for([['ExpertPool', 'spec.sandbox.snapshotEngine', 'Reflink']] as const)(
    'refuses %s %s: %s, which nothing obeys yet',
    async ([kind, field, value]) => {
      const { status, body } = await tryCreate(withValue(full[kind], field, value));
      expect(status).toBe(422);
      expect(body.message).toContain(`Unsupported value: "${value}"`);
    },
  );

  it.for([
    ['ExpertPool', 'experts[0].adapter'],
    ['RolloutPolicy', 'stickiness'],
    ['EnergyModel', 'training'],
  ] as const)('refuses %s spec.%s, which nothing obeys yet', async ([kind, field]) => {
    const { status, body } = await tryCreate(withValue(full[kind], `spec.${field}`, {}));
    expect(status).toBe(400);
    expect(body.message).toContain(`unknown field "spec.${field}"`);
  });
});
