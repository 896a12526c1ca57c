// The configuration of the hybrid agent as examples/a100x4.yaml has it: what the schema can hold stands there.
import { readFile } from 'node:fs/promises';
import { agentTask, ajvOptions, energyModel, expertPool, validators, type EnergyModel, type ExpertPool } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { loadAll } from 'js-yaml';
import { beforeAll, describe, expect, test } from 'vitest';

type Node = Readonly<Record<string, unknown>>;

const file = new URL('../../../../examples/a100x4.yaml', import.meta.url);
const schemas = { ExpertPool: expertPool.spec, EnergyModel: energyModel.spec, AgentTask: agentTask.spec } as const;

/** All fields of a schema, `experts[].name`. */
function fieldsOf(schema: Node, path: string): readonly string[] {
  const below = Object.entries((schema['properties'] ?? {}) as Record<string, Node>).flatMap(([name, child]) =>
    fieldsOf(child, path === '' ? name : `${path}.${name}`),
  );
  const items = schema['items'] === undefined ? [] : fieldsOf(schema['items'] as Node, `${path}[]`);
  return [path, ...below, ...items];
}

/** All fields of a value. */
function placesOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item) => placesOf(item, `${path}[]`))];
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, child]) => placesOf(child, path === '' ? name : `${path}.${name}`))];
}

/** Fields of the hybrid agent's configuration whose code comes later; the schema must not know them before the example does. */
const later: readonly (readonly [keyof typeof schemas, string])[] = [
  ['ExpertPool', 'experts[].shaping'],
  ['ExpertPool', 'experts[].assembly'],
  ['ExpertPool', 'experts[].speculative.ngram'],
  ['ExpertPool', 'experts[].speculative.entropyBelowNats'],
  ['ExpertPool', 'planner'],
  ['ExpertPool', 'routing'],
  ['ExpertPool', 'memory'],
  ['ExpertPool', 'profiles[].planning'],
  ['ExpertPool', 'profiles[].compute.segmentTokens'],
  ['ExpertPool', 'profiles[].compute.beam'],
  ['ExpertPool', 'profiles[].compute.decoding'],
  ['EnergyModel', 'trunk'],
  ['EnergyModel', 'training'],
];

/** Parts of an expert that this fleet has no use for. */
const unused = [
  'experts[].engine.replay',
  'experts[].engine.llama',
  'experts[].engine.adapter',
  // Its canaries are beside what serves.
  // Models behind an API are in examples/chat.yaml.
  'experts[].engine.api',
  'experts[].engine.harness',
  'experts[].fallback',
  'experts[].engine.vLLM.toolCallParser',
  'experts[].engine.vLLM.tensorParallel',
  'experts[].engine.vLLM.slots',
  'experts[].engine.vLLM.extraArgs',
  'experts[].artifact.digest',
  'experts[].speculative.draft.digest',
  'experts[].replicas',
  'experts[].resources.limits',
  'experts[].resources.requests.ephemeral-storage',
  'experts[].resources.memory.kvTokens',
];

describe('the example of the hybrid agent', () => {
  let pool: ExpertPool;
  let model: EnergyModel;

  beforeAll(async () => {
    const all = loadAll(await readFile(file, 'utf8')) as readonly { readonly kind: string }[];
    pool = all.find(({ kind }) => kind === 'ExpertPool') as unknown as ExpertPool;
    model = all.find(({ kind }) => kind === 'EnergyModel') as unknown as EnergyModel;
  });

  test('equals the design', () => {
    const slots = pool.spec.experts.map(({ name, resources }) => `${name} ${resources?.slot ?? ''} ${resources?.memory?.budget ?? ''}`);
    expect(slots).toEqual([
      'g-gen dgx-1/gpu0 34Gi',
      'e-py dgx-1/gpu1 8500Mi',
      'e-js dgx-1/gpu1 8500Mi',
      'e-sh dgx-1/gpu1 8500Mi',
      'e-edit dgx-1/gpu1 8500Mi',
      'hrm  ',
      'embedder  ',
      'tpc  ',
    ]);
    const contexts = pool.spec.experts.flatMap(({ engine }) => (engine.type === 'VLLM' ? [engine.vLLM.maxModelLen] : []));
    expect(contexts).toEqual([8192, 8192, 8192, 8192, 8192]);
    expect(pool.spec.profiles?.[0]?.compute).toMatchObject({ entropyFastNats: '2.5', margin: '1.5', kBase: 2 });
    expect(model.spec.lambda).toBe('1.0');
    expect(model.spec.heads).toEqual([{ name: 'Code', lambda: '0.7' }]);
  });

  test('gives no GPU to what computes on CPUs', () => {
    const onCPUs = pool.spec.experts.filter(({ engine }) => engine.type !== 'VLLM');
    expect(onCPUs.map(({ name }) => name)).toEqual(['hrm', 'embedder', 'tpc']);
    for (const { resources } of [...onCPUs, model.spec]) expect([resources?.slot, resources?.memory]).toEqual([undefined, undefined]);
  });

  test('is valid, and what was read is what was written', () => {
    const valid = validators(new Ajv(ajvOptions));
    for (const object of [pool, model]) {
      const copy = structuredClone(object);
      expect(object.kind === 'ExpertPool' ? valid.ExpertPool(copy) : valid.EnergyModel(copy)).toBe(true);
      // Defaults are filled in, and nothing is dropped.
      expect(copy).toMatchObject(object);
    }
  });

  test('has every field of experts and placement that the schema has, or a reason not to', () => {
    const shown = new Set(placesOf(pool.spec, ''));
    const known = fieldsOf(expertPool.spec as unknown as Node, '').filter((path) => /^(experts\[\]|placement)/.test(path));
    const missing = known.filter(
      (path) => !shown.has(path) && !unused.some((part) => path === part || path.startsWith(`${part}.`) || path.startsWith(`${part}[`)),
    );
    expect(missing).toEqual([]);
    expect(unused.filter((part) => shown.has(part))).toEqual([]);
  });

  test.each(later)('%s: the schema holds no %s yet; when it does, the example has to have it', (kind, path) => {
    expect(fieldsOf(schemas[kind] as unknown as Node, '')).not.toContain(path);
  });
});
