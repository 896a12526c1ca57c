// Every rule of every kind on a real API server: accepted and refused objects, and the messages.
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

/** A refusal by the schema names `checks[]`, one by a policy the element. */
const unnamed = (message = ''): string => message.replaceAll(/\[[^\] ]*\]/g, '[]');

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
    expect(unnamed(bad.body.message)).toContain(unnamed(message));
    expect(bad.status).toBe(422);
  });

  it('names all that is wrong with a task, and where in a list', async () => {
    const wrong = {
      'spec.goal': ' ',
      'spec.checks[0].path': 'a',
      'spec.attempts': { rules: [{ class: 'InvalidInput', action: 'Retry' }] },
    };
    const { status, body } = await tryCreate(withValues(runningTask, wrong));
    expect(status).toBe(422);
    expect(body.message).toContain(
      'denied request: spec.goal must not be blank; say what must become true; spec.checks[unit].path must be set exactly when spec.checks[unit].type is Artifact; set or remove it; spec.attempts.rules[InvalidInput].action must be Fail',
    );
  });

  /** All paths of a task, each as long as allowed. */
  const allPaths = (part: string): Node => {
    const path = (start: string, length: number): string => `${start}/${part.repeat(length)}`.slice(0, length);
    const each = (count: number, length: number): string[] =>
      Array.from({ length: count }, (_, n) => path(`f${n}`, length).replace(/\/$/, 'x'));
    const files = each(64, 512).map((name) => ({ path: name, content: 'x' }));
    const checks = each(16, 512).map((name, n) => ({ name: `c${n}`, type: 'Artifact', path: name }));
    const changes = { workspace: { type: 'Inline', inline: { files } }, checks, 'protect.paths': each(64, 512) };
    return withValues(
      withValue(runningTask, 'spec.output', undefined),
      Object.fromEntries(Object.entries(changes).map(([field, value]) => [`spec.${field}`, value])),
    );
  };

  it('reads as many and as long paths as a task may have', async () => {
    const { status, body } = await tryCreate(allPaths('a/'));
    expect(body.message).toBeUndefined();
    expect(status).toBe(201);
    const wrong = await tryCreate(allPaths('../'));
    expect(wrong.body.message).toContain('denied request: spec.workspace.inline.files[f0/../');
    expect(wrong.status).toBe(422);
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
