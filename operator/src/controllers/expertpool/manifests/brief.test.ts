import type { EnergyModel } from '@agentfleet/protocol/api';
import { PoolBrief } from '@agentfleet/protocol/pool';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { newPool } from '../../agenttask/testing/objects.ts';
import { newModel } from '../../energymodel/testing/models.ts';
import { briefConfigMap, poolBrief, type BriefInput } from './brief.ts';

const valid = new Ajv().compile(PoolBrief);
const nothing = { registries: [], environment: {} };

function inputOf(spec: object = {}, more: Partial<BriefInput> = {}): BriefInput {
  const made = newPool({ ...spec });
  const pool = { ...made, metadata: { ...made.metadata, uid: 'uid-pool' } };
  return { pool, namespaces: [], experts: pool.spec.experts, energyModel: undefined, egress: nothing, ...more };
}

function briefOf(spec: object = {}, more: Partial<BriefInput> = {}): PoolBrief {
  const brief = poolBrief(inputOf(spec, more));
  if (!valid(brief)) throw new Error(JSON.stringify(valid.errors));
  return brief;
}

describe('the brief of the workers', () => {
  it('names every expert that has pods, with engine and domains', () => {
    const experts = [
      { name: 'gen', role: 'Generalist', engine: { type: 'Synth' }, domains: ['python'] },
      { name: 'prior', role: 'Draft', engine: { type: 'Llama', llama: {} } },
      { name: 'hrm', role: 'Planner', engine: { type: 'Builtin' } },
      { name: 'off', role: 'Policy', engine: { type: 'Builtin' }, replicas: 0 },
    ];
    const url = (name: string): string => `http://coding-expert-${name}.platform.svc:7080`;
    expect(briefOf({ experts }).experts).toEqual([
      { name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['python'], url: url('gen') },
      { name: 'prior', role: 'Draft', engine: 'Llama', domains: ['*'], url: url('prior') },
      { name: 'hrm', role: 'Planner', engine: 'Builtin', domains: ['*'], url: url('hrm') },
    ]);
  });

  it('names those without pods, and those whose engine has no image, so that tasks can say who is missing', () => {
    const experts = [
      { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } },
      { name: 'hrm', role: 'Planner', engine: { type: 'Builtin' }, replicas: 0 },
      { name: 'prior', role: 'Draft', engine: { type: 'Llama', llama: {} } },
    ];
    const { pool } = inputOf({ experts });
    const imaged = pool.spec.experts.filter(({ engine }) => engine.type !== 'Llama');
    const brief = briefOf({ experts }, { experts: imaged });
    expect(brief.experts.map(({ name }) => name)).toEqual(['gen']);
    expect(brief.absent).toEqual([
      { name: 'hrm', role: 'Planner' },
      { name: 'prior', role: 'Draft' },
    ]);
    expect(briefOf().absent).toEqual([]);
  });

  it('holds how an agent program is run, which has no server', () => {
    const chat = { type: 'Replay', replay: { configMap: { name: 'chats' }, format: 'Chat' } };
    const harness = { command: ['mini', '{{goal}}'], env: [{ name: 'A', value: '{{key}}' }], model: 'llm', install: { command: ['pip'] } };
    const experts = [
      { name: 'program', role: 'Generalist', engine: { type: 'Harness', harness } },
      { name: 'llm', role: 'Specialist', engine: chat },
    ];
    expect(briefOf({ experts }).experts[0]).toEqual({
      name: 'program',
      role: 'Generalist',
      engine: 'Harness',
      domains: ['*'],
      url: 'http://127.0.0.1:3128',
      harness: {
        command: ['mini', '{{goal}}'],
        env: { A: '{{key}}' },
        model: 'llm',
        input: 'Template',
        api: 'Chat',
        acts: 'Own',
        rounds: 2,
        stallSeconds: 300,
        install: { command: ['pip'], timeoutSeconds: 1800, network: 'Registries' },
      },
    });
  });

  it('names the hosts and the longest retention that the pool sets; a list that is empty is no missing one', () => {
    expect(briefOf()).not.toHaveProperty('allowedHosts');
    expect(briefOf()).not.toHaveProperty('maxRetentionSeconds');
    expect(briefOf({ policy: { maxRetentionSeconds: 3600 } }).maxRetentionSeconds).toBe(3600);
    expect(briefOf({ policy: { allowedHosts: [] } }).allowedHosts).toEqual([]);
    const egress = { ...nothing, clusterRanges: ['34.118.224.0/20'] };
    const server = { name: 'docs', url: 'https://mcp.corp/mcp', timeoutSeconds: 60, readOnly: false };
    expect(briefOf({ tools: { deny: ['fetch'], mcpServers: [server] } }).tools).toEqual({
      deny: ['fetch'],
      timeouts: {},
      mcpServers: [{ ...server, headers: [] }],
    });
    const brief = briefOf({ policy: { allowedHosts: [{ host: 'git.corp', port: 443 }] } }, { egress });
    expect([brief.allowedHosts, brief.egress.clusterRanges]).toEqual([[{ host: 'git.corp', port: 443 }], ['34.118.224.0/20']]);
  });

  it('has the consent to traces of tasks that do not say, where the pool has one', () => {
    expect(briefOf({ policy: { traceConsent: { default: 'Internal' } } }).traceConsent).toBe('Internal');
    expect(briefOf()).not.toHaveProperty('traceConsent');
  });

  it('names the key of the storage when the pool has one', () => {
    const storage = { uri: 's3://agents', endpoint: 'https://s3.example.com', region: 'eu-1', forcePathStyle: true };
    expect(briefOf({ storage }).storage).not.toHaveProperty('encryptionKeyFile');
    const encrypted = briefOf({ storage: { ...storage, encryption: { credential: 'seal' } } });
    expect(encrypted.storage).toMatchObject({ encryptionKeyFile: '/etc/agentfleet/credentials/seal' });
  });

  it('names the ablations that its annotation allows, and none by itself', () => {
    expect(briefOf()).not.toHaveProperty('ablations');
    const { pool } = inputOf();
    const annotations = { 'agentfleet.dev/allowed-ablations': 'HRM, Backtracking' };
    const allowing = { ...pool, metadata: { ...pool.metadata, annotations } };
    expect(briefOf({}, { pool: allowing }).ablations).toEqual(['HRM', 'Backtracking']);
  });

  it('has no verifier without a model', () => {
    expect(briefOf().verifier).toBeNull();
  });

  it('has the thresholds in force, also before the model has reported where it answers', () => {
    const model = newModel({ thresholds: { whenUnavailable: 'Degrade' } });
    const expected = {
      name: 'judge',
      url: 'http://judge-verifier.platform.svc:7080',
      batchMax: 16,
      timeoutMillis: 800,
      vetoBelowProbability: 0.15,
      warnBelowProbability: 0.35,
      whenUnavailable: 'Degrade',
    };
    expect(briefOf({}, { energyModel: model }).verifier).toEqual(expected);
    const thresholdsInForce = { vetoBelowProbability: '0.2', warnBelowProbability: '0.4' };
    const status = { arms: [{ endpoint: 'http://elsewhere:1', thresholdsInForce }] };
    expect(briefOf({}, { energyModel: { ...model, status } }).verifier).toEqual({
      ...expected,
      url: 'http://elsewhere:1',
      vetoBelowProbability: 0.2,
      warnBelowProbability: 0.4,
    });
  });

  it('holds whether probabilities count, where the model asks for a calibration', () => {
    const model = newModel({ thresholds: { source: 'Calibration' }, calibration: { maxAgeSeconds: 3600 } });
    const verifierOf = (status: EnergyModel['status']) => briefOf({}, { energyModel: { ...model, ...(status && { status }) } }).verifier;
    expect(verifierOf(undefined)?.calibration).toEqual({ abstains: 'NotReported' });
    const calibration = { digest: `sha256:${'a'.repeat(64)}`, until: '2030-01-01T01:00:00Z' };
    const heads = [{ name: 'Shell', vetoBelowProbability: '0.3', warnBelowProbability: '0.6' } as const];
    const thresholdsInForce = { vetoBelowProbability: '0.1', warnBelowProbability: '0.2', heads };
    const arm = { endpoint: 'http://judge:1', thresholdsInForce };
    expect(verifierOf({ arms: [{ ...arm, calibration }] })).toMatchObject({
      heads: [{ head: 'Shell', vetoBelowProbability: 0.3, warnBelowProbability: 0.6 }],
      calibration: { ...calibration, abstains: null },
    });
    expect(verifierOf({ arms: [{ ...arm, calibration: { abstains: 'Stale' } }] })?.calibration).toEqual({ abstains: 'Stale' });
  });

  it('always has a profile called default', () => {
    const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
    expect(briefOf().profiles).toEqual({ default: compute });
    expect(briefOf({ profiles: [{ name: 'careful', compute: { kBase: 4, margin: '0.3' } }] }).profiles).toEqual({
      default: compute,
      careful: { ...compute, kBase: 4, margin: 0.3 },
    });
    expect(briefOf({ profiles: [{ name: 'default', compute: { kMax: 2 } }] }).profiles).toEqual({ default: { ...compute, kMax: 2 } });
  });

  it('passes on where registries are, and what may be sent to which hosts', () => {
    const egress = { registries: [{ host: 'packages.example.com', port: 443 }], environment: { npm_config_registry: 'https://a/' } };
    expect(briefOf({}, { egress }).egress).toEqual(egress);
    const credentials = [{ name: 'git', secretRef: { name: 'git', key: 'token' }, hosts: ['git.example.com'] }];
    expect(briefOf({ credentials }).credentials).toEqual([
      { name: 'git', hosts: ['git.example.com'], file: '/etc/agentfleet/credentials/git' },
    ]);
  });

  it('is the same text for what the workers do not need to know', () => {
    const model = newModel();
    const starting = { phase: 'Starting', ready: 0, endpoint: 'http://judge-verifier.platform.svc:7080' } as const;
    const texts = [starting, { ...starting, phase: 'Ready', ready: 1 } as const].map((status) =>
      JSON.stringify(briefConfigMap(inputOf({}, { energyModel: { ...model, status } })).object['data']),
    );
    expect(texts[0]).toBe(texts[1]);
  });
});
