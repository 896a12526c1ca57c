import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { buildRunner, RealRunner, startHarness, waitUntil, type Harness } from '@agentfleet/keeper/testing';
import { silentLog, systemClock } from '@agentfleet/kube';
import { ajvOptions, validators, type AgentTask, type AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { Approvals } from '../../attempt/approvals.ts';
import type { Baseline } from '../../attempt/checkRun.ts';
import { judgeAtBaseline } from '../../attempt/baseline.ts';
import { createGate, type Gate, type Proposal } from '../../attempt/gate.ts';
import { SandboxSession } from '../../attempt/sandboxSession.ts';
import { Meter } from '../../attempt/meter.ts';
import type { AttemptContext } from '../../attempt/ports.ts';
import type { Prepared, Scope } from '../../attempt/scope.ts';
import { prepare } from '../../attempt/prepare.ts';
import { Progress } from '../../attempt/progress.ts';
import { createRails, installedGrammars, loadGrammars } from '../../rails/index.ts';
import { toolsFor, type ToolSet } from '../registry.ts';
import {
  ArgumentError,
  steady,
  type BackgroundProcess,
  type LoopMemory,
  type Observation,
  type PlanItem,
  type ToolContext,
  type UndoPoint,
} from '../tool.ts';

/** The Go runner, built once for a test file, or why it cannot be used on this machine. */
export const builtRunner = buildRunner;

export type Files = Readonly<Record<string, string>>;

export interface BedOptions {
  readonly files?: Files;
  readonly spec?: Partial<AgentTaskSpec>;
  readonly pool?: Partial<PoolBrief>;
  /** Replaces parts of the bed's context for the attempt. */
  readonly context?: Partial<AttemptContext>;
  readonly engine?: Partial<Scope['options']>;
}

class Memory implements LoopMemory {
  plan: readonly PlanItem[] = [];
  readonly undoPoints: UndoPoint[] = [];
  readonly processes: BackgroundProcess[] = [];
  readonly texts = new Map<string, string>();
  /** Results that the model saw. */
  readonly shown: string[] = [];

  store(callKey: string, text: string): string {
    this.texts.set(callKey, text);
    return callKey;
  }

  stored(handle: string): string | null {
    return this.texts.get(handle) ?? null;
  }

  shows(text: string): boolean {
    return this.shown.some((one) => steady(one).includes(steady(text)));
  }
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** A ULID that is the same for the same text. */
const ulidOf = (text: string): string =>
  `0${[...createHash('sha256').update(text).digest()].slice(0, 25).map((byte) => alphabet[byte % 32]).join('')}`; // prettier-ignore

const fillDefaults: ValidateFunction = validators<ValidateFunction>(new Ajv(ajvOptions)).AgentTask;
const grammars = await loadGrammars(installedGrammars());

function taskOf(spec: Partial<AgentTaskSpec>, files: Files): AgentTask {
  const inline = {
    files: Object.entries({ 'README.md': 'Nothing to see.\n', ...files }).map(([path, content]) => ({ path, content, mode: 0o644 })),
  };
  const whole = { goal: 'Make the tests pass.', workspace: { type: 'Inline', inline }, ...spec };
  const task = {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name: 'task', namespace: 'team', uid: 'uid' },
    spec: whole,
  };
  if (!fillDefaults(task)) throw new Error(`not a task: ${JSON.stringify(fillDefaults.errors)}`);
  return task as unknown as AgentTask;
}

/** Tools on a real keeper and a real runner, without a cluster: the work of a loop between two requests to a model. */
export class ToolBed implements AsyncDisposable {
  readonly harness: Harness;
  readonly scope: Scope;
  readonly memory = new Memory();
  prepared!: Prepared;
  baseline!: Baseline;
  tools!: ToolSet;
  #gate!: Gate;
  #runner: RealRunner;
  #calls = 0;

  private constructor(harness: Harness, runner: RealRunner, scope: Scope) {
    this.harness = harness;
    this.#runner = runner;
    this.scope = scope;
  }

  /** @param binary of {@link builtRunner} */
  static async open(binary: string, options: BedOptions = {}): Promise<ToolBed> {
    const { files = {}, spec = {}, pool = {} } = options;
    const task = taskOf({ checks: [always], ...spec } as Partial<AgentTaskSpec>, files);
    const harness = await startHarness({ env: { AGENTFLEET_RUNNER: binary } });
    const runner = new RealRunner(binary, harness.linkPath, harness.linkKey);
    try {
      await waitUntil(async () => (await harness.client().info()).ready, 10_000);
      const bed = new ToolBed(harness, runner, await scopeOf(harness, task, pool, options));
      await bed.#prepare();
      return bed;
    } catch (error) {
      await runner.kill();
      await harness[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { scope } = this;
    this.prepared = await prepare(scope);
    this.baseline = await judgeAtBaseline(scope, this.prepared);
    const { rails } = scope.options;
    this.#gate = createGate({ rails, task: scope.context.task, session: scope.session, writing: 'Programs' }, this.baseline.protectedSet);
    const { id, manifestDigest } = this.prepared.initial;
    this.memory.undoPoints.push({ step: 0, id, digest: manifestDigest });
    this.tools = await toolsFor(scope);
  }

  context(callKey = `call-${(this.#calls += 1)}`): ToolContext {
    const { scope, prepared, baseline, memory } = this;
    const execId = (n: number): string => ulidOf(`${callKey} ${n}`);
    return { scope, prepared, baseline, memory, callKey, execId, handle: callKey, gate: this.#gate, approved: false };
  }

  /** Calls a tool with a model's text. A fault of the call is an observation, as in the loop. */
  async call(name: string, args: unknown, callKey?: string): Promise<Observation> {
    try {
      const { tool, args: read } = this.tools.resolve(name, typeof args === 'string' ? args : JSON.stringify(args));
      const observation = await tool.run(read, this.context(callKey));
      await this.#remember(observation);
      return observation;
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      return { ok: false, text: error.message };
    }
  }

  async propose(name: string, args: unknown): Promise<Proposal | string> {
    try {
      const { tool, args: read } = this.tools.resolve(name, JSON.stringify(args));
      return (await tool.propose?.(read, this.context())) ?? { rewrites: [], acts: [] };
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      return error.message;
    }
  }

  /** Keeps the parts of an observation that the loop keeps. */
  async #remember({ text, whole, changed, process }: Observation): Promise<void> {
    this.memory.shown.push(text);
    if (whole !== undefined) this.memory.store(`call-${this.#calls}`, whole);
    if (process !== undefined) {
      const known = this.memory.processes.findIndex(({ name }) => name === process.name);
      this.memory.processes.splice(known === -1 ? this.memory.processes.length : known, known === -1 ? 0 : 1, process);
    }
    if (changed !== true) return;
    const { id, manifestDigest } = await this.scope.session.snapshot(`step ${this.#calls}`);
    this.memory.undoPoints.push({ step: this.#calls, id, digest: manifestDigest });
  }

  read(path: string): Promise<string | null> {
    return readFile(join(this.harness.workspace, path), 'utf8').catch(() => null);
  }

  /** Writes like another process: nothing is recorded. */
  async write(path: string, content: string | Uint8Array): Promise<void> {
    const file = join(this.harness.workspace, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner.kill();
    await this.harness[Symbol.asyncDispose]();
    await rm(this.harness.dir, { recursive: true, force: true });
  }
}

const always = { name: 'always', command: ['true'], expect: 'Pass' };

async function scopeOf(
  harness: Harness,
  task: AgentTask,
  pool: Partial<PoolBrief>,
  { context: other, engine }: BedOptions,
): Promise<Scope> {
  const context = {
    task,
    assignment: { attempt: 1, epoch: 1 },
    pool: { maxBudget: {}, egress: { registries: [], environment: {} }, experts: [], credentials: [], ...pool },
    keeper: harness.client(),
    clock: systemClock,
    log: silentLog,
    used: { earlier: {}, before: {} },
    intentDurable: () => Promise.resolve(),
    approvals: () => [],
    taskChanged: () => Promise.resolve(),
    signal: new AbortController().signal,
    report: () => undefined,
    ...other,
  } as unknown as AttemptContext;
  const meter = new Meter(context.clock, context.used, {});
  const session = new SandboxSession(context, meter, await context.keeper.info(), engine?.openEgress);
  const progress = new Progress(context, meter);
  const approvals = new Approvals({ context, session, meter, progress, noted: [] });
  const options = {
    rails: createRails({ grammars }),
    importWorkspace: async (workspace: AgentTask['spec']['workspace']) => {
      const files = workspace.type === 'Inline' ? workspace.inline.files : [];
      for (const { path, content } of files) await context.keeper.writeFile(join(harness.workspace, path), content);
      return {};
    },
    ...engine,
  };
  return { context, options, session, meter, progress, approvals } as unknown as Scope;
}
