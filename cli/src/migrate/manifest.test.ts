import { ajvOptions, validators } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { load, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { migrate } from './manifest.ts';

const head = (kind: string): string => `apiVersion: agentfleet.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: one, namespace: team }\n`;
const experts = `  experts:
    - name: gen # ours
      role: Generalist
      engine: { type: Synth }
`;
const pool = (rest: string): string => `${head('ExpertPool')}spec:\n  allowedNamespaces: { from: All }\n${experts}${rest}`;
const model = (rest: string): string => `${head('EnergyModel')}spec:\n  artifact:\n    uri: builtin://features-v1\n${rest}`;

const rollout = (gates: string, more = ''): string => `  rollout: # slowly
    strategy: Canary
    # every task counts
    gates:
${gates}${more}  workers: { replicas: 1 } # one is enough
`;

type Gate = Readonly<Record<string, unknown>>;
const gatesOf = (text: string): readonly Gate[] => {
  const policy = (loadAll(text) as { kind: string; spec: { gates: Gate[] } }[]).find(({ kind }) => kind === 'RolloutPolicy');
  return policy?.spec.gates ?? [];
};

describe('a gate of before', () => {
  it.for<[string, readonly Gate[]]>([
    ["type: TaskPass, taskPass: { margin: '0.02' }", [{ name: 'g', metric: 'TaskLoss', atMost: '0.02' }]],
    ['type: ErrorRate, errorRate: {}', [{ name: 'g', metric: 'ErrorRate' }]],
    ["type: Latency, latency: { maxRatio: '1.3', minSamples: 9 }", [{ name: 'g', metric: 'LatencyRatio', atMost: '1.3', minSamples: 9 }]],
    ["type: RollbackSuccess, rollbackSuccess: { min: '0.9' }", [{ name: 'g', metric: 'RollbackSuccess', atLeast: '0.9' }]],
    [
      "type: AUC, auc: { min: '0.8', maxLoss: '0.01', minSamples: 5 }",
      [
        { name: 'g', metric: 'AUC', atLeast: '0.8', minSamples: 5 },
        { name: 'g-loss', metric: 'AUCLoss', atMost: '0.01', minSamples: 5 },
      ],
    ],
    [
      "type: GoldenSet, goldenSet: { templateRef: { name: t }, maxLoss: '0' }",
      [{ name: 'g', metric: 'GoldenLoss', templateRef: { name: 't' }, atMost: '0' }],
    ],
    ["type: Query, query: { query: up, min: '1', failureLimit: 2 }", [{ name: 'g', metric: 'Query', query: 'up', atLeast: '1' }]],
  ])('%s', ([old, wanted]) => {
    const { text, refusals } = migrate(pool(rollout(`      - { name: g, ${old} }\n`)));
    expect(refusals).toEqual([]);
    expect(gatesOf(text)).toEqual(wanted);
  });
});

describe('a file', () => {
  it('keeps its comments, and is what the schema of now takes; migrated again it stays', () => {
    const gates = "      - { name: loss, type: TaskPass, taskPass: { margin: '0.03', alpha: '0.05' } }\n";
    const old = `# ours\n${pool(rollout(gates, '    canarySlot: dgx-1/gpu2\n    surge: AnySlot\n'))}---\n# not ours\nkind: ConfigMap\napiVersion: v1\n`;
    const { text, changes } = migrate(old);
    for (const comment of ['# ours', '# one is enough', '# every task counts', '# not ours', 'name: gen # ours'])
      expect(text).toContain(comment);
    expect(changes.map((line) => line.replace(/^.*?: /, ''))).toEqual([
      'spec.rollout → RolloutPolicy one-pool, named in spec.rolloutPolicyRef',
      'gate loss.alpha: 0.05 is 0.01 from now on, and no field any more',
      'surge "AnySlot" is gone: a canary is beside what serves, else anywhere',
      'canarySlot "dgx-1/gpu2" is gone: a canary is beside what serves, else anywhere',
    ]);
    const valid = validators(new Ajv(ajvOptions));
    const [made, policy] = loadAll(text) as [{ spec: object }, { spec: object }];
    expect(made.spec).toMatchObject({ rolloutPolicyRef: { name: 'one-pool' } });
    expect([valid.ExpertPool(made), valid.RolloutPolicy(policy)]).toEqual([true, true]);
    expect(migrate(text)).toEqual({ text, changes: [], refusals: [] });
  });

  it('leaves tasks to the stable revision where a gate of it compares with them', () => {
    const steps = '    steps: [{ weight: 10 }, { weight: 100, minSamples: 5 }]\n';
    const weights = (type: string): unknown => {
      const { text, changes } = migrate(pool(rollout(`      - { name: g, type: ${type} }\n`, steps)));
      const policy = (loadAll(text) as { kind: string; spec: { steps: object[] } }[]).find(({ kind }) => kind === 'RolloutPolicy');
      return [policy?.spec.steps, changes.filter((line) => line.includes('90 at most')).length];
    };
    expect(weights('TaskPass')).toEqual([[{ weight: 10 }, { weight: 90, minSamples: 5 }], 1]);
    expect(weights('ErrorRate')).toEqual([[{ weight: 10 }, { weight: 100, minSamples: 5 }], 0]);
  });

  it('keeps its separators and its ends of lines', () => {
    const dry = pool('  placement: # DRA alone\n    mode: DRA\n    dryRun: false\n');
    const old = `${dry}--- # the second\n${dry}---\nkind: ConfigMap\napiVersion: v1\n`;
    const { text, changes, refusals } = migrate(old);
    expect([changes.length, refusals, text]).toEqual([2, [], old.replaceAll('    dryRun: false\n', '')]);
    const dos = (unix: string): string => unix.replaceAll('\n', '\r\n');
    expect(migrate(dos(old))).toEqual({ text: dos(text), changes, refusals: [] });
    expect(migrate(dos(text))).toEqual({ text: dos(text), changes: [], refusals: [] });
  });

  it('is not passed over where its objects are in a list', () => {
    const list = (item: string): string => `apiVersion: v1\nkind: List\nitems:\n- ${item.trim().replaceAll('\n', '\n  ')}\n`;
    expect(migrate(list(pool('  placement: { mode: DRA, dryRun: false }\n')))).toMatchObject({
      changes: [],
      refusals: [expect.stringMatching(/kind List: a list is not rewritten; write each of its items as a document/)],
    });
    expect(migrate(list(pool('')))).toMatchObject({ changes: [], refusals: [] });
    expect(migrate(head('ExpertPool'))).toMatchObject({ changes: [], refusals: [] });
  });

  it('has its engines behind an API in one member, with the address that was a default', () => {
    const engines = `      engine:
        type: OpenAI
        openAI: # ours
          baseURL: https://llm/v1 # with /v1
          model: m
    - name: second
      role: Specialist
      engine:
        type: Anthropic
        anthropic:
          model: c
`;
    const { text, changes } = migrate(pool('').replace('      engine: { type: Synth }\n', engines));
    expect(text).toContain('        api: # ours\n          baseURL: https://llm/v1 # with /v1');
    expect((load(text) as { spec: { experts: unknown[] } }).spec.experts).toMatchObject([
      { engine: { type: 'OpenAI', api: { baseURL: 'https://llm/v1', model: 'm' } } },
      { engine: { type: 'Anthropic', api: { baseURL: 'https://api.anthropic.com', model: 'c' } } },
    ]);
    expect(changes).toHaveLength(2);
    expect(migrate(text).changes).toEqual([]);
  });

  it.for([
    ['an only field', 'calibration: # of June\n    method: Isotonic\n', 'calibration: {} # of June\n'],
    ['the last of two', 'calibration:\n    method: Isotonic\n    minSamples: 5\n', 'calibration: {}\n'],
  ])('keeps its comments where %s of a mapping goes', ([, old = '', now = '']) => {
    const of = (field: string): string => `# ours\n${model(`  ${field}`)}`;
    expect(migrate(of(old))).toMatchObject({ text: of(now), refusals: [] });
  });

  it('may begin with a mark of its byte order, and end with a separator without an end of line', () => {
    const of = (field: string): string => `\uFEFF${model(field).replace(/\{ name: one, namespace: team \}/, '\n  name: one')}---`;
    expect(migrate(of('  scoring:\n    batchMax: 4\n'))).toMatchObject({ text: of(''), refusals: [] });
  });

  it('is read as kubectl reads it', () => {
    const merged = pool(
      '    - &base\n      name: second\n      role: Specialist\n      engine: { type: Synth }\n    - { <<: *base, name: third }\n',
    );
    const old = `${merged}  placement:\n    mode: DRA\n    dryRun: no\n`;
    expect(migrate(old)).toMatchObject({ refusals: [], text: old.replace('    dryRun: no\n', '') });
    const anew = migrate(`${merged}  placement: { mode: DRA, dryRun: no }\n`);
    expect(anew.changes.join()).toMatch(/written anew.* aliases and merge keys/);
    const synth = { role: 'Specialist', engine: { type: 'Synth' } };
    const { experts } = (load(anew.text) as { spec: { experts: unknown[] } }).spec;
    expect(experts.slice(-2)).toEqual([
      { name: 'second', ...synth },
      { name: 'third', ...synth },
    ]);
    const engine = '{ type: OpenAI, openAI: { baseURL: https://llm/v1, model: m } }';
    const shared = `    - { name: a, role: Specialist, engine: &e ${engine} }\n    - { name: b, role: Specialist, engine: *e }\n`;
    const apart = (load(migrate(pool(shared)).text) as { spec: { experts: { engine: unknown }[] } }).spec.experts.slice(-2);
    for (const expert of apart) expect(expert.engine).toEqual({ type: 'OpenAI', api: { baseURL: 'https://llm/v1', model: 'm' } });
    const files = '  workspace: { inline: { files: [{ path: a, mode: 0444 }] } }\n';
    const task = migrate(`${head('AgentTask')}spec:\n  suspend: yes\n${files}  rollback: { revertScript: false }\n`);
    expect(load(task.text)).toMatchObject({ spec: { suspend: true, workspace: { inline: { files: [{ mode: 0o444 }] } } } });
  });

  it.for([
    ['a model', model("  rollout:\n    gates: [{ name: b, type: Brier, brier: { maxRatio: '1.1' } }]\n")],
    ['a document in flow style', `${head('ExpertPool')}spec: { experts: [], rollout: { strategy: Recreate } }\n`],
    ['fields that are gone', model('  calibration:\n    method: Isotonic\n    minSamples: 5\n  scoring:\n    batchMax: 4\n')],
    ['tokens of a model', model('  resources:\n    memory:\n      budget: 5Gi\n      kvTokens: 8\n')],
    [
      'numbers that are constants',
      pool(
        '  profiles:\n    - name: default\n      compute:\n        kBase: 2\n        riskThreshold: "0.5"\n        earlyExitMargin: "2"\n',
      ),
    ],
    [
      'a list',
      pool('').replace('engine: { type: Synth }', 'engine: { type: Synth }\n      artifact:\n        uri: pvc://a\n        format: GGUF'),
    ],
    [
      'a task with knobs',
      `${head('AgentTask')}spec:\n  attempts:\n    max: 2\n    backoff:\n      seconds: 5\n      factor: 3\n  rollback:\n    revertScript: false\n  tools:\n    timeouts:\n      bash: 60\n`,
    ],
    ['a dry run that is none', pool('  placement:\n    mode: DRA\n    dryRun: false\n')],
    ['lists of what tasks may add', pool('  policy:\n    minIsolation: Seccomp\n    allowedPodLabels: [a]\n')],
    ['a policy', `${head('RolloutPolicy')}spec:\n  strategy: Recreate\n  onMissingData: Abort\n  stepTimeoutSeconds: 60\n`],
  ])('%s has nothing of before in it any more', ([, old]) => {
    const { text, changes, refusals } = migrate(old ?? '');
    expect([refusals, changes.length > 0]).toEqual([[], true]);
    expect(text).not.toMatch(
      /rollout:|method:|format:|scoring:|riskThreshold:|earlyExitMargin:|allowedPodLabels:|onMissingData:|kvTokens:|minSamples:|stepTimeoutSeconds:|dryRun:|factor:|revertScript:|timeouts:/,
    );
    expect(load(text.split('---\n')[0] ?? '')).toMatchObject({ metadata: { name: 'one' } });
  });

  it.for([
    ['spec.placement.mode: Monopod', pool('  placement: { mode: Monopod }\n')],
    ['spec.placement.dryRun: true', pool('  placement: { dryRun: true }\n')],
    ['spec.resources.memory.budget: Auto', model('  resources: { memory: { budget: Auto } }\n')],
    ['spec.resources.memory.budget is missing', model('  resources:\n    memory:\n      kvTokens: 8\n')],
    ['spec.experts[0].residency: Swap', pool('').replace('role: Generalist', 'role: Generalist\n      residency: Swap')],
    ['spec.workspace.git.url: ssh://a/b', `${head('AgentTask')}spec: { workspace: { git: { url: 'ssh://a/b' } } }\n`],
    ['spec.strategy: Manual', `${head('RolloutPolicy')}spec: { strategy: Manual }\n`],
    ['there is no gate Other', pool(rollout('      - { name: g, type: Other }\n'))],
  ])('is left as it is for %s', ([words = '', old = '']) => {
    const { text, refusals } = migrate(old);
    expect(text).toBe(old);
    expect(refusals.join()).toContain(words);
    expect(refusals.join()).toContain('; ');
  });
});
