// Rules, alerts and dashboards of the chart: all series that they use are exported, and fit.
import { inferenceErrors } from '@agentfleet/protocol/inference';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { phases, rolloutPhases } from '@agentfleet/protocol/api';
import { beforeAll, describe, expect, it } from 'vitest';
import { placementReasons } from '../../protocol/src/api/reasons/pools.ts';
import { rolloutVerdicts } from '../../protocol/src/api/rollout/index.ts';
import { catalogue, type KnownSeries, dashboards, ruleGroups, type Dashboard, type Rule, vllmMetrics } from './catalogue.ts';
import { analyse, type Analysis } from './promql.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const controllers = fileURLToPath(new URL('../../operator/src/controllers/', import.meta.url));
const known = new Map<string, KnownSeries>();
let rules: readonly Rule[];
let boards: readonly Dashboard[];
const titleOf = ({ alert, record }: Rule): string => alert ?? record ?? '';

/** Labels that a text with `{{label}}` or `{{ $labels.label }}` names. */
const named = (text: string): readonly string[] =>
  [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_A-Z]+)\s*\}\}/g)].map(([, label = '']) => label);

beforeAll(async () => {
  for (const [name, series] of catalogue()) known.set(name, series);
  rules = (await ruleGroups()).flatMap((group) => group.rules);
  boards = await dashboards();
  // Rules of a group are evaluated in their order: each may use those before it.
  for (const { record, expr } of rules)
    if (record !== undefined) known.set(record, { type: 'gauge', labels: analyse(expr, known).shape.labels });
});

/** Faults of an expression, and of a text about its series. */
function faultsOf(expr: string, texts: readonly string[] = []): readonly string[] {
  const { shape, faults } = analyse(expr, known);
  const unknown = texts.flatMap(named).filter((label) => !shape.labels.has(label) && label !== '$value');
  return [...faults, ...unknown.map((label) => `the text names ${label}, which the result has not`)];
}

describe('rules', () => {
  it('ask for series and labels that are exported, and name labels that the result has', () => {
    expect(rules.length).toBeGreaterThan(40);
    const faults = rules.flatMap((rule) =>
      faultsOf(rule.expr, Object.values(rule.annotations ?? {})).map((fault) => `${titleOf(rule)}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it('have unique names; alerts have a fault, a severity and a cure', () => {
    const names = rules.map(titleOf);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, annotations, labels } of rules.filter((rule) => rule.alert !== undefined)) {
      expect(alert).toMatch(/^AgentFleet[A-Z]/);
      expect(['critical', 'warning']).toContain(labels?.['severity']);
      expect(annotations?.['summary']?.length).toBeGreaterThan(20);
      expect(annotations?.['description']?.length).toBeGreaterThan(20);
      expect(annotations?.['runbook_url']).toBe(`docs/runbooks/${alert}.md`);
      expect(existsSync(`${root}${annotations?.['runbook_url'] ?? ''}`), alert).toBe(true);
    }
  });

  it('record each measure by pool, model, expert, revision and track, whatever engine exports it', () => {
    const recorded = rules.flatMap(({ record }) => (record === undefined ? [] : [record]));
    expect(recorded.filter((name) => !name.startsWith('fleet:'))).toEqual([]);
    for (const name of recorded)
      expect([...(known.get(name)?.labels ?? [])].toSorted(), name).toEqual(['expert', 'model', 'pool', 'revision', 'track']);
  });

  it('use both names of a renamed engine metric', () => {
    const recording = rules.filter(({ record }) => record !== undefined).map(({ expr }) => analyse(expr, known).metrics);
    const base = (name: string): string => name.replace(/_bucket$/, '');
    const used = recording.map((metrics) => new Set([...metrics].map(base)));
    for (const [old, { now, until }] of Object.entries(vllmMetrics)) {
      expect(now === undefined, old).toBe(until === undefined);
      if (now === undefined) continue;
      expect(vllmMetrics[now], now).toBeDefined();
      const both = used.filter((metrics) => metrics.has(old) || metrics.has(now));
      expect(both.length, old).toBeGreaterThan(0);
      for (const metrics of both) expect([...metrics], old).toEqual(expect.arrayContaining([old, now]));
    }
  });

  it('count the codes as errors by which an engine fails', () => {
    const failed = Object.entries(inferenceErrors).flatMap(([code, { status }]) => (status >= 500 && code !== 'AF_STOPPING' ? [code] : []));
    const [matcher] = analyse(rules.find(({ record }) => record === 'fleet:errors:rate5m')?.expr ?? '', known).matchers;
    expect(matcher).toMatchObject({ label: 'code', value: failed.toSorted().join('|') });
  });
});

describe('dashboards', () => {
  it('ask for series and labels that are exported, and name labels that the result has', () => {
    const targets = boards.flatMap(({ title, panels }) =>
      panels.flatMap((panel) => (panel.targets ?? []).map((target) => ({ ...target, where: `${title} / ${panel.title}` }))),
    );
    expect(targets.length).toBeGreaterThan(60);
    const faults = targets.flatMap(({ expr, legendFormat, where }) => faultsOf(expr, [legendFormat]).map((fault) => `${where}: ${fault}`));
    expect(faults).toEqual([]);
    const notes = boards.flatMap(({ annotations }) => annotations.list.flatMap(({ expr, titleFormat }) => faultsOf(expr, [titleFormat])));
    expect(notes).toEqual([]);
  });

  it('have a data source to choose, and variables that are asked of series that exist', () => {
    expect(new Set(boards.map(({ uid }) => uid)).size).toBe(boards.length);
    for (const { title, templating, panels } of boards) {
      expect(templating.list[0], title).toMatchObject({ name: 'DS_PROMETHEUS', type: 'datasource', query: 'prometheus' });
      for (const { query } of templating.list.filter(({ type }) => type === 'query')) {
        const [, selector = '', label = ''] = /^label_values\((.+), ([a-z]+)\)$/.exec((query as { readonly query: string }).query) ?? [];
        expect(faultsOf(selector, [`{{${label}}}`]), selector).toEqual([]);
      }
      const variables = new Set(templating.list.map(({ name }) => name));
      const used = [...JSON.stringify(panels).matchAll(/\$\{?([a-zA-Z_]+)\}?/g)].map(([, name = '']) => name);
      expect(
        [...new Set(used)].filter((name) => !variables.has(name)),
        title,
      ).toEqual([]);
    }
  });

  it('lie side by side', () => {
    for (const { panels, title } of boards) {
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
      );
      expect(new Set(cells).size, title).toBe(cells.length);
      expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    }
  });
});

describe('values of labels', () => {
  const words: Readonly<Record<string, readonly string[]>> = {
    'agentfleet_rollout_phase phase': rolloutPhases,
    'agentfleet_rollout_gate verdict': rolloutVerdicts,
    'agentfleet_tasks phase': phases,
    'agentfleet_placement_slot_fault reason': Object.keys(placementReasons),
    'agentfleet_placement_slot_bytes state': ['total', 'reserved', 'measured'],
    'agentfleet_task_ends_total rollback': ['None', 'Restored', 'Discarded', 'Kept', 'NotVerified'],
    'agentfleet_condition status': ['True', 'False', 'Unknown'],
    'agentfleet_condition reason': rolloutPhases,
    'leader_election_master_status name': ['agentfleet-operator'],
  };

  it('are those that are exported', async () => {
    const sources = ['expertpool/conditions.ts', 'energymodel/decide.ts', 'placement/conditions.ts', '../operands/conditions.ts'].map(
      (path) => readFile(`${controllers}${path}`, 'utf8'),
    );
    const types = [...(await Promise.all(sources)).join('\n').matchAll(/^ +\['([A-Z][A-Za-z]+)', /gm)].map(([, type = '']) => type);
    expect(types.length).toBeGreaterThan(12);
    const analyses: readonly Analysis[] = [
      ...rules.map(({ expr }) => analyse(expr, known)),
      ...boards.flatMap(({ panels }) => panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => analyse(expr, known)))),
    ];
    const seen = new Set<string>();
    for (const { metrics, label, value } of analyses.flatMap(({ matchers }) => matchers)) {
      const key = `${metrics.join('|')} ${label}`;
      const allowed = key === 'agentfleet_condition type' ? types : words[key];
      if (allowed === undefined || value === '') continue;
      seen.add(key);
      for (const word of value.split('|')) expect(allowed, key).toContain(word);
    }
    expect([...seen].toSorted()).toEqual([...Object.keys(words), 'agentfleet_condition type'].toSorted());
  });
});

describe('the reader', () => {
  it.for([
    ['sum by (pool (agentfleet_tasks)', 'not PromQL'],
    ['agentfleet_task', 'nobody exports agentfleet_task'],
    ['agentfleet_tasks{pools="a"}', 'has the label pools'],
    ['sum by (expert) (agentfleet_tasks)', 'has the label expert'],
    ['rate(agentfleet_tasks[5m])', 'rate is of counters'],
    ['rate(agentfleet_task_ends_total)', 'rate takes no vector'],
    ['abs(agentfleet_tasks[5m])', 'abs takes no matrix'],
    ['histogram_quantile(0.9, sum by (pool) (rate(vllm:time_to_first_token_seconds_bucket[5m])))', 'has the label le'],
    ['sum by (pool) (agentfleet_tasks) / on (expert) sum by (pool) (agentfleet_tasks)', 'has the label expert'],
    ['sum by (pool) (agentfleet_tasks) / sum by (phase) (agentfleet_tasks)', 'never meet'],
    ['{__name__=~"vllm:kv_cache_usage_perc|vllm:cpu_cache_usage_perc"}', 'nobody exports vllm:cpu_cache_usage_perc'],
  ] as const)('says what is wrong with %s', ([expr, fault]) => {
    expect(analyse(expr, known).faults.join()).toContain(fault);
  });
});
