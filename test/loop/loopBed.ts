import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { collectCoverage } from '@agentfleet/agent/coverage';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { PoolDecisionModels } from '@agentfleet/agent/decision';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import { ajvOptions, validators, type AgentTask, type AgentTaskSpec } from '@agentfleet/protocol/api';
import type { RecordedCandidate } from '@agentfleet/protocol/inference';
import type { ComputeBrief, ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
// Relatively, so that planted bugs are seen.
import { repair } from '../../agent-image/src/search/index.ts';
import {
  createAttemptEngine,
  type AttemptContext,
  type AttemptEngine,
  type EngineOptions,
  type Report,
} from '../../agent-image/src/attempt/index.ts';
import { createRails, installedGrammars, loadGrammars } from '../../agent-image/src/rails/index.ts';
import { readConfig } from '../../inference-image/src/base/config.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../../inference-image/src/start.ts';
import type { LocalSandbox } from './localSandbox.ts';

export const compute: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };

/** A step's report in its note. */
export interface StepReport {
  readonly result: string;
  readonly operator: string;
  readonly signals: Readonly<Record<string, number | boolean | null>> & { readonly degraded: readonly string[] };
  readonly facts: Readonly<Record<string, number | string>>;
}

/** An attempt that has not begun, and its last report. */
export interface AttemptRun {
  readonly context: AttemptContext;
  readonly reported: Report;
  abort(reason: string): void;
}

export type Workspace = Readonly<Record<string, string>>;

/** An engine that writes files of the task to the workspace, and reaches nothing. */
export async function engineOf(own: Partial<EngineOptions> = {}): Promise<AttemptEngine> {
  return createAttemptEngine({
    rails: createRails({ grammars: await loadGrammars(installedGrammars()) }),
    search: repair,
    importWorkspace: async (workspace, { keeper, root }) => {
      const files = workspace.type === 'Inline' ? workspace.inline.files : [];
      for (const { path, content } of files) await keeper.writeFile(`${root}/${path}`, content);
      return {};
    },
    collectCoverage: () => Promise.resolve([]),
    openEgress: () => Promise.reject(new Error('nothing is reached in this test')),
    ...own,
  });
}

/** A store of artifacts in a folder. */
export async function storeIn(folder: string): Promise<ArtifactStore> {
  const path = join(folder, 'artifacts');
  await mkdir(path, { recursive: true });
  return createArtifactStore({ type: 'Volume', path, claim: 'artifacts' }, { clock: systemClock, random: () => 0.5, spool: folder });
}

type Ports = Pick<AttemptContext, 'pool' | 'keeper' | 'experts' | 'decisionModels' | 'store'> & Partial<AttemptContext>;

/** The first attempt at a task, about which nobody says anything. */
export function beginRun(spec: Partial<AgentTaskSpec>, ports: (signal: AbortSignal) => Ports): AttemptRun {
  const controller = new AbortController();
  const { signal } = controller;
  const run = { reported: {} as Report, abort: (reason: string): void => controller.abort(reason) };
  const context: AttemptContext = {
    task: taskOf(spec),
    assignment: { attempt: 1, epoch: 1 } as AttemptContext['assignment'],
    clock: systemClock,
    log: silentLog,
    used: { earlier: nothing, before: nothing },
    readConfigMap: () => Promise.reject(new Error('no ConfigMap in this test')),
    intentDurable: () => Promise.resolve(),
    approvals: () => [],
    messages: () => [],
    messageTaken: () => undefined,
    taskChanged: () => Promise.resolve(),
    signal,
    report(change) {
      run.reported = { ...run.reported, ...change };
    },
    ...ports(signal),
  };
  return Object.assign(run, { context });
}

/** The real engine with a real mind and real servers of proposals, in a {@link LocalSandbox}. */
export class LoopBed implements AsyncDisposable {
  readonly #engine: AttemptEngine;
  readonly #store: ArtifactStore;
  readonly #folder: string;
  readonly #servers: RunningServer[] = [];

  private constructor(engine: AttemptEngine, store: ArtifactStore, folder: string) {
    this.#engine = engine;
    this.#store = store;
    this.#folder = folder;
  }

  /** @param covers how coverage is found; by itself as in the worker */
  static async open(covers: EngineOptions['collectCoverage'] = collectCoverage): Promise<LoopBed> {
    const folder = await mkdtemp(join(tmpdir(), 'loop-bed-'));
    return new LoopBed(await engineOf({ collectCoverage: covers }), await storeIn(folder), folder);
  }

  /** Starts an inference server by its environment; gives its origin. */
  async serve(env: Readonly<Record<string, string>>): Promise<string> {
    const config = readConfig({ AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', LOG_LEVEL: 'error', ...env });
    const logger = createLog('silent', () => undefined, Date.now);
    const server = await startServer({ config, logger, now: () => performance.now() });
    this.#servers.push(server);
    return server.addresses[0] ?? '';
  }

  /** A server that proposes a goal's records. */
  async replay(goal: string, steps: readonly (readonly RecordedCandidate[])[]): Promise<string> {
    const path = join(this.#folder, `record-${this.#servers.length}.json`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ format: 'agentfleet.dev/replay/v1', records: [{ goal, steps }] }));
    return this.serve({ AGENTFLEET_ENGINE: 'Replay', AGENTFLEET_REPLAY: path });
  }

  begin(
    sandbox: LocalSandbox,
    spec: Partial<AgentTaskSpec>,
    fleet: Pick<PoolBrief, 'experts' | 'verifier'>,
    own: Partial<ComputeBrief> = {},
    clock: Clock = systemClock,
  ): AttemptRun {
    const client = new ExpertsClient({ clock, random: () => 0.5, log: silentLog });
    const egress = { registries: [], environment: {} };
    const pool = { pool: { name: 'coding', namespace: 'platform' }, maxBudget: {}, egress, ...fleet } as unknown as PoolBrief;
    return beginRun(spec, (signal) => ({
      pool,
      keeper: sandbox.client,
      experts: client.of(pool.experts),
      decisionModels: new PoolDecisionModels({ pool, compute: { ...compute, ...own }, parts: client.parts, name: 'task.1.1', signal }),
      store: this.#store,
    }));
  }

  run({ context }: Pick<AttemptRun, 'context'>): ReturnType<AttemptEngine['run']> {
    return this.#engine.run(context);
  }

  rollBack({ context }: Pick<AttemptRun, 'context'>): ReturnType<AttemptEngine['rollback']> {
    return this.#engine.rollback(context, 'Initial');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export const nothing = { tokensIn: 0, tokensOut: 0, toolCalls: 0, cpuMillis: 0, wallSeconds: 0, candidates: 0, vetoes: 0, backtracks: 0 };
const fillDefaults: ValidateFunction = validators<ValidateFunction>(new Ajv(ajvOptions)).AgentTask;

/** A task with the API's defaults. */
export function taskOf(
  spec: Partial<AgentTaskSpec>,
  metadata: AgentTask['metadata'] = { name: 'task', namespace: 'team', uid: 'uid-of-task' },
): AgentTask {
  const task = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata, spec: structuredClone(spec) };
  if (!fillDefaults(task)) throw new Error(`not a task: ${JSON.stringify(fillDefaults.errors)}`);
  return task as unknown as AgentTask;
}

/** An expert that proposes edits for every domain; by itself a recording. */
export function generalist(url: string, engine: 'Replay' | 'Synth' = 'Replay'): ExpertEndpoint {
  return { name: 'gen', role: 'Generalist', engine, domains: ['*'], url };
}

/** A task about some files. */
export function taskFor(files: Workspace, command: readonly string[], goal = 'Make the tests pass.'): Partial<AgentTaskSpec> {
  const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content, mode: 0o644 })) };
  return {
    goal,
    workspace: { type: 'Inline', inline },
    checks: [{ name: 'unit', command: [...command], timeoutSeconds: 20 }] as unknown as AgentTaskSpec['checks'],
  };
}

/** The notes of all candidates that were tried. */
export function tried(sandbox: LocalSandbox): readonly StepReport[] {
  return sandbox.notes.filter(({ kind }) => kind === 'Tried').map(({ data }) => data as unknown as StepReport);
}
