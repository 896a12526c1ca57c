import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AttemptContext, AttemptEngine, Experts, DecisionModels, Report } from '@agentfleet/agent/attempt';
import { collectCoverage } from '@agentfleet/agent/coverage';
import { createDialer, createEgress, type DialerOptions } from '@agentfleet/agent/egress';
import { Newest } from '../../agent-image/src/tasks/assignmentRunner.ts';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { noDecisionModels } from '../../agent-image/src/decision/testing/noDecisionModels.ts';
import type { ArtifactStore } from '@agentfleet/agent/store';
import { importWorkspace } from '@agentfleet/agent/workspace';
import { runHarness } from '../../agent-image/src/harness/index.ts';
import { loopStrategy } from '../../agent-image/src/loop/index.ts';
import type { ChatModels } from '../../agent-image/src/models/models.ts';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTask, AgentTaskSpec, Approval } from '@agentfleet/protocol/api';
import type { RecordedCandidate } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../../inference-image/src/start.ts';
import { beginRun, compute, engineOf, storeIn, taskOf, type AttemptRun } from '../loop/loopBed.ts';

/** One attempt of the real engine on a real sandbox, with its reports. */
export interface Run extends AttemptRun {
  readonly messages: readonly string[];
  /** Writes a decision about an act that waits, as the operator does. */
  decide(approval: Approval): void;
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
    const openDialer = createDialer({ clock: systemClock, env: {}, ...names });
    const engine = await engineOf({
      loop: loopStrategy,
      runHarness,
      importWorkspace: (workspace, { rules, ...ports }) =>
        importWorkspace(workspace, { ...ports, dialer: openDialer(rules), scratch: folder }),
      collectCoverage,
      openEgress: createEgress(openDialer),
    });
    return new AttemptBed(engine, await storeIn(folder), folder, server);
  }

  /** Begins an attempt of a task; `spec` is completed with the API's defaults. */
  begin(
    sandbox: Sandbox,
    { spec = {}, attempt = 1, epoch = attempt, status, experts, decisionModels, models, people, pool: more, onReport }: RunOptions,
  ): Run {
    const messages: string[] = [];
    const { namespace, name } = sandbox;
    const task = { ...taskOf(spec, { name, namespace, uid: `uid-of-${name}` }), ...(status !== undefined && { status }) };
    const newest = new Newest(task);
    const decide = (approval: Approval): void => newest.see({ ...task, status: { ...status, approvals: [approval] } });
    const egress = { registries: [], environment: {} };
    const pool = {
      pool: { name: 'coding', namespace: 'platform' },
      maxBudget: {},
      profiles: { default: compute },
      experts: [this.#expert],
      egress,
      ...more,
    } as unknown as PoolBrief;
    const run: AttemptRun = beginRun(spec, () => ({
      task,
      assignment: { attempt, epoch } as AttemptContext['assignment'],
      pool,
      keeper: sandbox.clientWith({ epoch }),
      experts: experts ?? new ExpertsClient({ clock: systemClock, random: Math.random, log: silentLog }).of([this.#expert]),
      ...(models !== undefined && { models }),
      decisionModels: decisionModels ?? noDecisionModels({ compute, experts: [this.#expert.name] }),
      store: this.store,
      log: { ...silentLog, info: logLine, warn: logLine, error: logLine },
      approvals: () => newest.approvals(),
      messages: people ?? (() => (newest.task.status?.messages ?? []).map(({ id, text, requester }) => ({ id, text, by: requester }))),
      taskChanged: (signal) => newest.changed(signal),
    }));
    const own = run.context;
    const context: AttemptContext = {
      ...own,
      report(change, options) {
        const message = change.progress?.message;
        if (message !== undefined) messages.push(message);
        if (message !== undefined) logLine(message);
        own.report(change, options);
        onReport?.(change);
      },
    };
    return Object.assign(run, { context, messages, decide });
  }

  get expert(): ExpertEndpoint {
    return this.#expert;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function logLine(message: string, fields: object = {}): void {
  if (process.env['ATTEMPT_LOG'] === '1') console.error(new Date().toISOString().slice(14, 23), message, fields);
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
