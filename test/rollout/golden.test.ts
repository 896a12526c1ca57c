// The golden sets of examples/golden.yaml, run against real servers by the program of their Jobs.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog, systemClock } from '@agentfleet/kube';
import { goldenReportOf, type GoldenArm, type GoldenReport } from '@agentfleet/protocol/golden';
import type { ModelCalibration } from '@agentfleet/protocol/inference';
import type { VerifierEndpoint } from '@agentfleet/protocol/pool';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGoldenConfig, runGolden } from '../../agent-image/src/golden/index.ts';
import { readConfig } from '../../inference-image/src/base/config.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../../inference-image/src/start.ts';

interface ConfigMap {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

const example = new URL('../../examples/golden.yaml', import.meta.url);
const { signal } = new AbortController();
const running: RunningServer[] = [];
let folder = '';

async function serve(env: Readonly<Record<string, string>>): Promise<string> {
  const config = readConfig({ AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', LOG_LEVEL: 'error', ...env });
  const logger = createLog(config.logLevel, () => true, Date.now);
  const server = await startServer({ config, logger, now: () => performance.now() });
  running.push(server);
  return server.addresses[0] ?? '';
}

async function mounted(name: string): Promise<string> {
  const objects = loadAll(await readFile(example, 'utf8')) as ConfigMap[];
  const set = join(folder, name);
  await mkdir(set);
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  for (const [file, text] of Object.entries(map?.data ?? {})) await writeFile(join(set, file), text);
  return set;
}

const arm = (url: string, verifier: VerifierEndpoint | null = null): GoldenArm => ({
  kind: verifier === null ? 'ExpertPool' : 'EnergyModel',
  name: 'coding',
  namespace: 'platform',
  revision: 'aaaaaaaaaa',
  rollout: 'aaaaaaaaaa-1',
  experts: verifier === null ? [{ name: 'search', role: 'Generalist', engine: 'Synth', domains: ['*'], url }] : [],
  verifier,
});

const judge = (url: string, more: Partial<VerifierEndpoint> = {}): VerifierEndpoint => ({
  name: 'judge',
  url,
  batchMax: 16,
  timeoutMillis: 800,
  vetoBelowProbability: 0.15,
  warnBelowProbability: 0.35,
  whenUnavailable: 'FailClosed',
  ...more,
});

/** Runs a set like its Job; returns its last message, and its exit code. */
async function put(set: string, of: GoldenArm): Promise<{ readonly code: number; readonly said: string }> {
  const report = join(folder, 'termination');
  const config = readGoldenConfig({
    AGENTFLEET_ARM: JSON.stringify(of),
    AGENTFLEET_ARM_ROLE: 'canary',
    AGENTFLEET_SEED: '7',
    AGENTFLEET_GOLDEN_SET: set,
    AGENTFLEET_REPORT: report,
  });
  const code = await runGolden({ config, clock: systemClock, random: Math.random, log: silentLog, signal });
  return { code, said: await readFile(report, 'utf8') };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-'));
});
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
  await rm(folder, { recursive: true });
});

describe('a golden set of the examples', () => {
  test('is mostly won by the experts that it is for, and the same at every run', { timeout: 60_000 }, async () => {
    const url = await serve({});
    const set = await mounted('golden-coding');
    const { code, said } = await put(set, arm(url));
    expect(code).toBe(0);
    const { passed, total } = goldenReportOf(said) as GoldenReport;
    expect(total).toBe(14);
    expect(passed).toBeGreaterThanOrEqual(12);
    expect((await put(set, arm(url))).said).toBe(said);
    // A missing proposal does not pass, however many proposals there are.
    const other = join(folder, 'other');
    await mkdir(other);
    const files = [{ path: 'add.py', content: 'def add(a, b):\n    return a - b\n' }];
    const never = { id: 'a', propose: { goal: 'Make it right.', files }, expect: { path: 'add.py', contains: 'nobody writes this' } };
    await writeFile(join(other, 'one.jsonl'), JSON.stringify(never));
    expect(goldenReportOf((await put(other, arm(url))).said)).toEqual({ passed: 0, total: 1 });
  });

  test('measures a verifier, and is lost by one that vetoes nothing', { timeout: 60_000 }, async () => {
    const url = await serve({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: 'Verifier', AGENTFLEET_ARTIFACT: 'features-v3' });
    const set = await mounted('golden-acts');
    const { calibration } = (await (await fetch(`${url}/v1/info`)).json()) as { readonly calibration: ModelCalibration };
    const heads = calibration.heads.map(({ name: head, vetoBelowProbability, warnBelowProbability }) => ({
      head,
      vetoBelowProbability,
      warnBelowProbability,
    }));
    const { code, said } = await put(set, arm(url, judge(url, { heads })));
    expect(code).toBe(0);
    const report = goldenReportOf(said) as GoldenReport;
    expect(report).toMatchObject({ total: 32, heads: [{ name: 'Shell', samples: 32 }] });
    expect(report.passed).toBeGreaterThan(24);
    expect(report.heads?.[0]?.auc).toBeGreaterThan(0.9);
    const silent = judge(url, { calibration: { abstains: 'Stale' } });
    expect(goldenReportOf((await put(set, arm(url, silent))).said)).toMatchObject({ passed: 16, total: 32 });
  });

  test('reports why it cannot be run', { timeout: 60_000 }, async () => {
    const set = join(folder, 'broken');
    await mkdir(set);
    expect(await put(set, arm('http://127.0.0.1:9'))).toEqual({
      code: 1,
      said: `${set} has no file that ends in .jsonl; mount the set there`,
    });
    await writeFile(join(set, 'one.jsonl'), '{"id":"a","good":true,"act":{"head":"Shell","text":"ls"}}\n{"id":"b"}\n');
    expect(await put(set, arm('http://127.0.0.1:9'))).toMatchObject({ code: 1, said: expect.stringContaining('one.jsonl:2') as string });
    await writeFile(join(set, 'one.jsonl'), '{"id":"a","good":true,"act":{"head":"Shell","text":"ls"}}\n');
    expect((await put(set, arm('http://127.0.0.1:9'))).said).toContain('has no verifier');
  });
});
