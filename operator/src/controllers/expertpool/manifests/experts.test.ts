import { imageOf } from '../../../operands/index.ts';
import { describe, expect, it } from 'vitest';
import { newPool } from '../../agenttask/testing/objects.ts';
import { defaultResources, expertDeployment } from './experts.ts';

const images = { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' };

interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly resources: object;
  readonly terminationMessagePolicy: string;
  readonly volumeMounts?: object;
}

/** The container of an expert of a pool that has a Generalist too. */
function containerOf(expert: object): Container {
  const made = newPool({
    experts: [
      { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } },
      { name: 'it', ...expert },
    ],
  });
  const pool = { ...made, metadata: { ...made.metadata, uid: 'uid-pool' } };
  const found = pool.spec.experts.find(({ name }) => name === 'it')!;
  const { object } = expertDeployment({
    pool,
    expert: found,
    image: imageOf(found, { ...images, inferenceLlama: 'llama:1' })!,
    replayHash: undefined,
  });
  return (object as unknown as { spec: { template: { spec: { containers: [Container] } } } }).spec.template.spec.containers[0];
}

const envOf = (expert: object): Readonly<Record<string, string>> =>
  Object.fromEntries(containerOf(expert).env.map(({ name, value }) => [name, value]));

describe('the pods of an expert', () => {
  it.each(['Planner', 'Embedder', 'Policy'])('serve the role %s with the engine Builtin', (role) => {
    expect(envOf({ role, engine: { type: 'Builtin' } })).toEqual({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: role });
    expect(containerOf({ role, engine: { type: 'Builtin' } }).image).toBe('inference:1');
  });

  it('serve a language model with its own image, its threads and a core beside them', () => {
    const llama = { role: 'Draft', engine: { type: 'Llama', llama: { threads: 3, contextTokens: 1024 } } };
    expect(envOf(llama)).toEqual({
      AGENTFLEET_ENGINE: 'Llama',
      AGENTFLEET_ROLES: 'Draft',
      AGENTFLEET_THREADS: '3',
      AGENTFLEET_CONTEXT_TOKENS: '1024',
    });
    expect(containerOf(llama).image).toBe('llama:1');
    expect(containerOf(llama).resources).toMatchObject({ limits: { cpu: '4' } });
  });

  it('have no image for a language model when none is set', () => {
    const [expert] = newPool({ experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Llama', llama: {} } }] }).spec.experts;
    expect(imageOf(expert!, images)).toBeUndefined();
    expect(defaultResources(expert!)).toMatchObject({ requests: { memory: '512Mi' }, limits: { cpu: '2' } });
  });

  it('find their recording where their environment points', () => {
    const { env, volumeMounts } = containerOf({
      role: 'Specialist',
      engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } },
    });
    const path = env.find(({ name }) => name === 'AGENTFLEET_REPLAY')?.value;
    expect(volumeMounts).toEqual([{ name: 'replay', mountPath: path, readOnly: true }]);
  });

  it('get what the spec sets, or what fits their role, and report their last lines', () => {
    const role = { role: 'Embedder', engine: { type: 'Builtin' } };
    expect(containerOf(role).resources).toEqual({ requests: { cpu: '50m', memory: '320Mi' }, limits: { memory: '768Mi' } });
    expect(containerOf({ ...role, resources: { limits: { memory: '2Gi' } } }).resources).toEqual({ limits: { memory: '2Gi' } });
    expect(containerOf(role).terminationMessagePolicy).toBe('FallbackToLogsOnError');
  });
});
