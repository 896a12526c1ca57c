import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import {
  createAttemptEngine,
  type AttemptContext,
  type AttemptEngine,
  type Experts,
  type DecisionModels,
  type Report,
} from '@agentfleet/agent/attempt';
import { collectCoverage } from '@agentfleet/agent/coverage';
import { createDialer, createEgress, type DialerOptions } from '@agentfleet/agent/egress';
import { Newest } from '../../agent-image/src/tasks/assignmentRunner.ts';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { noDecisionModels } from '../../agent-image/src/decision/testing/noDecisionModels.ts';
import { createRails, installedGrammars, loadGrammars } from '@agentfleet/agent/rails';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { importWorkspace } from '@agentfleet/agent/workspace';
import { runHarness } from '../../agent-image/src/harness/index.ts';
import { loopStrategy } from '../../agent-image/src/loop/index.ts';
import { repair } from '../../agent-image/src/search/index.ts';
import type { ChatModels } from '../../agent-image/src/models/models.ts';
import { silentLog, systemClock } from '@agentfleet/kube';
import { ajvOptions, validators, type AgentTask, type AgentTaskSpec, type Approval } from '@agentfleet/protocol/api';
import type { RecordedCandidate } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../../inference-image/src/start.ts';

/** One attempt of the real engine on a real sandbox, with its reports. */
export interface Run {
  readonly context: AttemptContext;
  /** All reports, merged like in the runtime. */
  readonly reported: Report;
  readonly messages: readonly string[];
  /** Writes a decision about an act that waits, as the operator does. */
  decide(approval: Approval): void;
  abort(reason: string): void;
}

export interface RunOptions {
  readonly spec?: Partial<AgentTaskSpec>;
  readonly attempt?: number;
  readonly epoch?: number;
  readonly status?: AgentTask['status'];
  readonly experts?: Experts;
  readonly decisionModels?: DecisionModels;
  readonly models?: ChatModels;
  /** Messages of people that the model has not got yet. */
  readonly people?: () => ReturnType<NonNullable<AttemptContext['messages']>>;
  readonly pool?: Partial<PoolBrief>;
  readonly onReport?: (report: Report) => void;
}

const fillDefaults: ValidateFunction = validators<ValidateFunction>(new Ajv(ajvOptions)).AgentTask;

/** The engine and its parts besides the sandbox: experts on this machine, a store in a temporary folder. */
export class AttemptBed implements AsyncDisposable {
  readonly engine: AttemptEngine;
  readonly store: ArtifactStore;
  readonly #folder: string;
  readonly #server: RunningServer;
  readonly #expert: ExpertEndpoint;

  private constructor(engine: AttemptEngine, store: ArtifactStore, folder: string, server: RunningServer) {
    this.engine = engine;
    this.store = store;
    this.#folder = folder;
    this.#server = server;
    this.#expert = { name: 'generalist', role: 'Generalist', engine: 'Synth', domains: ['*'], url: server.addresses[0] ?? '' };
  }

  /** @param record Replay's proposals, by goal; without it Synth searches */
  static async open(
    record?: Readonly<Record<string, readonly (readonly RecordedCandidate[])[]>>,
    names: Pick<DialerOptions, 'resolve'> = {},
  ): Promise<AttemptBed> {
    const folder = await mkdtemp(join(tmpdir(), 'attempt-'));
    const server = await startExpert(folder, record);
    await mkdir(join(folder, 'artifacts')); // as a volume is mounted
    const place = { type: 'Volume', path: join(folder, 'artifacts'), claim: 'artifacts' } as const;
    const store = createArtifactStore(place, { clock: systemClock, random: Math.random, spool: folder });
    const openDialer = createDialer({ clock: systemClock, env: {}, ...names });
    const engine: AttemptEngine = createAttemptEngine({
      rails: createRails({ grammars: await loadGrammars(installedGrammars()) }),
      search: repair,
      loop: loopStrategy,
      runHarness,
      importWorkspace: (workspace, { rules, ...ports }) =>
        importWorkspace(workspace, { ...ports, dialer: openDialer(rules), scratch: folder }),
      collectCoverage,
      openEgress: createEgress(openDialer),
    });
    return new AttemptBed(engine, store, folder, server);
  }

  /** Begins an attempt of a task; `spec` is completed with the API's defaults. */
  begin(sandbox: Sandbox, options: RunOptions): Run {
    const { spec = {}, attempt = 1, epoch = attempt, status, experts, decisionModels, models, people, pool: more, onReport } = options;
    const controller = new AbortController();
    const messages: string[] = [];
    const task = taskOf(sandbox, spec, status);
    const newest = new Newest(task);
    const decide = (approval: Approval): void => newest.see({ ...task, status: { ...status, approvals: [approval] } });
    const run = { decide, reported: {} as Report, messages, abort: (reason: string): void => controller.abort(reason) };
    const egress = { registries: [], environment: {} };
    const pool = {
      pool: { name: 'coding', namespace: 'platform' },
      maxBudget: {},
      profiles: { default: compute },
      experts: [this.#expert],
      egress,
      ...more,
    } as unknown as PoolBrief;
    const context: AttemptContext = {
      task,
      assignment: { attempt, epoch } as AttemptContext['assignment'],
      pool,
      keeper: sandbox.clientWith({ epoch }),
      experts: experts ?? new ExpertsClient({ clock: systemClock, random: Math.random, log: silentLog }).of([this.#expert]),
      ...(models !== undefined && { models }),
      decisionModels: decisionModels ?? noDecisionModels({ compute, experts: [this.#expert.name] }),
      store: this.store,
      clock: systemClock,
      log: { ...silentLog, info: logLine, warn: logLine, error: logLine },
      used: { earlier: nothing, before: nothing },
      readConfigMap: () => Promise.reject(new Error('no ConfigMap in this test')),
      intentDurable: () => Promise.resolve(),
      approvals: () => newest.approvals(),
      messages: people ?? (() => newest.messages().map(({ id, text, requester }) => ({ id, text, by: requester }))),
      messageTaken: () => undefined,
      taskChanged: (signal) => newest.changed(signal),
      signal: controller.signal,
      report(change) {
        const message = change.progress?.message;
        if (message !== undefined) messages.push(message);
        if (message !== undefined) logLine(message);
        run.reported = { ...run.reported, ...change };
        onReport?.(change);
      },
    };
    return Object.assign(run, { context });
  }

  get expert(): ExpertEndpoint {
    return this.#expert;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export const compute = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
const nothing = { tokensIn: 0, tokensOut: 0, toolCalls: 0, cpuMillis: 0, wallSeconds: 0, candidates: 0, vetoes: 0, backtracks: 0 };

function logLine(message: string, fields: object = {}): void {
  if (process.env['ATTEMPT_LOG'] === '1') console.error(new Date().toISOString().slice(14, 23), message, fields);
}

function taskOf({ namespace, name }: Sandbox, spec: Partial<AgentTaskSpec>, status: AgentTask['status']): AgentTask {
  const metadata = { name, namespace, uid: `uid-of-${name}` };
  const task = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata, spec: structuredClone(spec) };
  if (!fillDefaults(task)) throw new Error(`not a task: ${JSON.stringify(fillDefaults.errors)}`);
  return { ...task, ...(status !== undefined && { status }) } as unknown as AgentTask;
}

async function startExpert(folder: string, record: Parameters<typeof AttemptBed.open>[0]): Promise<RunningServer> {
  const path = join(folder, 'record.json');
  const records = Object.entries(record ?? {}).map(([goal, steps]) => ({ goal, steps }));
  if (record !== undefined) await writeFile(path, JSON.stringify({ format: 'agentfleet.dev/replay/v1', records }));
  return startServer({
    config: {
      version: 'test',
      listen: { host: '127.0.0.1', port: 0 },
      socket: null,
      access: null,
      engine: record === undefined ? { type: 'Synth' } : { type: 'Replay', record: path },
      roles: ['Generalist'],
      queueLimit: 8,
      drainSeconds: 10,
      batchLimit: 1,
      grammars: null,
      logLevel: 'silent',
    },
    logger: createLog('silent', () => undefined, Date.now),
    now: () => performance.now(),
  });
}
