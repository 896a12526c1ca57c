/** One attempt at a task by the engine of a worker, in a sandbox of this machine. */
import { AttemptFailure, type AttemptContext, type AttemptEngine, type Outcome, type Report } from '@agentfleet/agent/attempt';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { PoolDecisionModels } from '@agentfleet/agent/decision';
import { waitingForModel } from '@agentfleet/agent/loop';
import type { ArtifactStore } from '@agentfleet/agent/store';
import type { ChatModels } from '@agentfleet/agent/models';
import { newExecId, type KeeperClient } from '@agentfleet/keeper/client';
import { silentLog, systemClock } from '@agentfleet/kube';
import { type AgentTask, ajvOptions, validators, type AgentTaskSpec } from '@agentfleet/protocol/api';
import { workspaceDir, type AuditRecord } from '@agentfleet/protocol/keeper';
import { type PoolBrief, ablatedBrief, ablations } from '@agentfleet/protocol/pool';
import { EvalError } from '../run/failure.ts';
import { scriptSeconds, type PackTask, toAgentTask } from '../format/index.ts';
import { resultOf, usageOf, type Attempted, type ConversationCounts, type TriedCandidate } from '../run/results.ts';
import { seeded } from '../stats/index.ts';
import { checkPassed } from '../verify/index.ts';
import { Ajv } from 'ajv';
import { type AttemptBudget, compute, type LearnedPart, type Variant } from '../run/run.ts';
import type { PartServers } from './servers.ts';
import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';
import { measureSources, pythonSurfaces, type RunProgram } from '@agentfleet/agent/features';
import { installedGrammars, loadGrammars } from '@agentfleet/agent/rails';

const nothing = { ...usageOf(), wallSeconds: 0 };

/** Inputs of an attempt. */
export interface TestEnvironment {
  readonly engine: AttemptEngine;
  readonly brief: PoolBrief;
  readonly store: ArtifactStore;
  readonly keeper: KeeperClient;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Chat models of the brief. */
  readonly models?: ChatModels;
  /** The worker is lost during the model's act in this step; another one continues. */
  readonly loseWorkerAt?: number | undefined;
  /** Called once for each reason for which the attempt waits for its model. */
  readonly onWait?: ((why: string) => void) | undefined;
}

/** Runs the engine; reports are kept instead of written to an API server. */
export async function attempt(agentTask: AgentTask, environment: TestEnvironment): Promise<Omit<Attempted, 'hidden' | 'wallSeconds'>> {
  const reports: { last: Report } = { last: {} };
  const waits = new Set<string>();
  const report = (change: Report): void => {
    reports.last = { ...reports.last, ...change };
    const said = change.progress?.message ?? '';
    if (!said.startsWith(waitingForModel) || waits.has(said)) return;
    waits.add(said);
    environment.onWait?.(said);
  };
  const { engine, loseWorkerAt } = environment;
  const ended = loseWorkerAt === undefined ? null : await lost(engine, contextOf(agentTask, environment, report), loseWorkerAt);
  // The next worker is a new one: of the first, only the sandbox and its log are left.
  const context = contextOf(agentTask, environment, report);
  const outcome = ended ?? (await engine.run(context));
  const { reason, message } = outcome;
  return {
    result: resultOf(outcome),
    reason,
    message: message ?? '',
    ...(outcome.class === undefined ? {} : { class: outcome.class }),
    ...(await loggedIn(environment.keeper, environment.models !== undefined)),
    usage: usageOf(reports.last.usage),
    degraded: [...context.decisionModels.degraded],
  };
}

/**
 * Runs a worker that is lost in the middle of a step: the answer of the sandbox's first call after the chosen reply is
 * dropped, and later calls are not executed. Returns its outcome if it ended before, else null.
 */
async function lost(engine: AttemptEngine, context: AttemptContext, step: number): Promise<Outcome | null> {
  const gone = new AbortController();
  const signal = AbortSignal.any([context.signal, gone.signal]);
  let replies = 0;
  const keeper = new Proxy(context.keeper, {
    get(target, name: string) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const call = method as (...args: unknown[]) => unknown;
      if (name === 'events' || name === 'exec' || name === 'follow') return call.bind(target);
      return async (...args: unknown[]): Promise<unknown> => {
        signal.throwIfAborted();
        const answer: unknown = await call.apply(target, args);
        if (replies >= step && !name.startsWith('note')) gone.abort('Lost');
        signal.throwIfAborted();
        const notes = name === 'noteAll' ? (args[0] as readonly { readonly kind: string }[]).map(({ kind }) => kind) : [args[0]];
        if (name.startsWith('note') && notes.includes('ReplyChosen')) replies += 1;
        return answer;
      };
    },
  });
  try {
    return await engine.run({ ...context, keeper, signal });
  } catch (error) {
    if (error !== 'Lost') throw error;
    return null;
  }
}

/** Returns a worker's context for its engine. @param people decide about acts; default: none are asked */
export function contextOf(
  task: AgentTask,
  environment: TestEnvironment,
  report: AttemptContext['report'],
  people: Pick<AttemptContext, 'approvals' | 'taskChanged'> = { approvals: () => [], taskChanged: () => Promise.resolve() },
): AttemptContext {
  const { brief: pool, seed, signal, keeper, store, models } = environment;
  const random = seeded(seed);
  const client = new ExpertsClient({ clock: systemClock, random, log: silentLog });
  const experts = client.of(pool.experts);
  const compute = pool.profiles['default'];
  if (compute === undefined) throw new TypeError('a brief has a profile called default');
  return {
    task,
    assignment: { attempt: 1, epoch: 1 } as AttemptContext['assignment'],
    pool,
    keeper,
    experts: {
      choose: (domain, weights) => experts.choose(domain, weights),
      generate: (expert, request, until) => experts.generate(expert, { ...request, seed }, until),
    },
    decisionModels: new PoolDecisionModels({ pool, compute, parts: client.parts, name: `${task.metadata.name}.1.1`, signal }),
    store,
    ...(models !== undefined && { models }),
    clock: systemClock,
    log: silentLog,
    used: { earlier: nothing, before: nothing },
    readConfigMap: (name) => Promise.reject(new AttemptFailure('InvalidInput', 'ConfigMapNotFound', `a pack has no ConfigMap ${name}`)),
    // Nothing outlives this process, so nothing must be durable before an act.
    intentDurable: () => Promise.resolve(),
    ...people,
    messages: () => [],
    messageTaken: () => undefined,
    signal,
    report,
  };
}

async function loggedIn(keeper: KeeperClient, talks: boolean): Promise<Pick<Attempted, 'tried' | 'conversation'>> {
  const tried: TriedCandidate[] = [];
  const conversation: Mutable<ConversationCounts> = { steps: 0, calls: 0, refusals: 0, undone: 0, compactions: 0 };
  for await (const record of keeper.events()) {
    const candidate = candidateOf(record);
    if (candidate !== null) tried.push(candidate);
    count(conversation, record);
  }
  return { tried, ...(talks && { conversation }) };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function count(conversation: Mutable<ConversationCounts>, { type, body }: AuditRecord): void {
  const { kind, data } = body as { readonly kind?: unknown; readonly data?: { readonly refused?: string; readonly restored?: unknown } };
  if (type !== 'Noted') return;
  if (kind === 'ModelReplied') conversation.steps += 1;
  if (kind === 'ConversationCompacted') conversation.compactions += 1;
  if (kind !== 'CallObserved') return;
  conversation.calls += 1;
  if (data?.refused !== undefined) conversation.refusals += 1;
  if (data?.restored !== undefined) conversation.undone += 1;
}

function candidateOf({ type, body }: AuditRecord): TriedCandidate | null {
  const { kind, data } = body as { readonly kind?: unknown; readonly data?: unknown };
  if (type !== 'Noted' || kind !== 'Tried') return null;
  const { result, operator, signals } = data as { result: string; operator: string; signals?: Omit<TriedCandidate, 'result' | 'operator'> };
  return { result, operator, energy: signals?.energy ?? null, pSuccess: signals?.pSuccess ?? null, k: signals?.k ?? 0 };
}

const settleMs = 20;

type Run = Parameters<KeeperClient['run']>[0];

/** Runs a command in the workspace. */
function ran(keeper: KeeperClient, argv: readonly string[], more: Pick<Run, 'timeoutSeconds' | 'stdin'>): ReturnType<KeeperClient['run']> {
  return keeper.run({ execId: newExecId(), tool: 'ExecCode', argv: [...argv], cwd: workspaceDir, ...more });
}

/**
 * Judges the result of the attempt: in a fresh container of the same sandbox, after the attempt and all its processes
 * have ended, with the files of both checks laid over it. Only now are hidden files copied into the sandbox.
 */
export async function judgeHidden({ hidden }: Pick<PackTask, 'hidden'>, keeper: KeeperClient, signal: AbortSignal): Promise<boolean> {
  await keeper.restartTools();
  while (!(await keeper.info()).ready) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, settleMs));
  }
  for (const [path, content] of Object.entries(hidden.files)) await keeper.writeFile(`${workspaceDir}/${path}`, content);
  const { command, timeoutSeconds } = hidden;
  const { stdout, stderr, end } = await ran(keeper, command, { timeoutSeconds });
  const reason = end.timedOut ? 'Timeout' : 'Exit';
  return checkPassed(hidden, { passed: end.exitCode === 0, reason, status: end.exitCode, output: stdout + stderr });
}

/** Prepares the workspace of a task in a sandbox, as set-up of an attempt does. @throws EvalError when a script of it fails */
export async function prepare({ id, files, setup }: PackTask, keeper: KeeperClient): Promise<void> {
  for (const [path, content] of Object.entries(files)) await keeper.writeFile(`${workspaceDir}/${path}`, content);
  for (const script of setup) {
    const { end, stderr } = await ran(keeper, ['sh', '-euc', script], { timeoutSeconds: scriptSeconds });
    if (end.exitCode !== 0) throw new EvalError(`the set-up of ${id} fails: ${stderr.slice(-300)}`);
  }
}

/** Judges a patch that was made elsewhere. @throws EvalError when it does not fit */
export async function judgePatch(task: PackTask, patch: string, keeper: KeeperClient, signal: AbortSignal): Promise<boolean> {
  await prepare(task, keeper);
  if (patch.trim() !== '') {
    const { end, stderr } = await ran(keeper, ['git', 'apply', '--whitespace=nowarn', '-p1', '-'], { stdin: patch });
    if (end.exitCode !== 0) throw new EvalError(`the patch of ${task.id} does not fit its workspace: ${stderr.slice(-300)}`);
  }
  return judgeHidden(task, keeper, signal);
}

const namespace = 'local';

/** A verifier of a machine that others use too answers late; a pool would wait 800 ms. */
const verifierMillis = 20_000;

async function expert(role: Exclude<LearnedPart, 'Verifier'>, servers: PartServers): Promise<PoolBrief['experts'][number]> {
  return { name: role.toLowerCase(), role, engine: 'Builtin', domains: ['*'], url: await servers.url(role) };
}

/**
 * Returns the brief that an operator would write for the workers of a pool of this variant. @param model replaces the
 * search for edits
 */
export async function briefOf(
  { parts, ablations: asked }: Variant,
  servers: PartServers,
  storage: PoolBrief['storage'],
  model?: PoolBrief['experts'][number],
): Promise<PoolBrief> {
  const experts = parts.filter((part) => part !== 'Verifier');
  const brief: PoolBrief = {
    format: 'agentfleet.dev/pool/v1',
    pool: { name: 'local', namespace },
    namespaces: [namespace],
    experts: [
      model ?? { name: 'search', role: 'Generalist', engine: 'Synth', domains: ['*'], url: await servers.url('Synth') },
      ...(await Promise.all(experts.map((part) => expert(part, servers)))),
    ],
    absent: [],
    verifier: parts.includes('Verifier') ? verifierAt(await servers.url('Verifier')) : null,
    profiles: { default: compute },
    egress: { registries: [], environment: {} },
    credentials: [],
    storage,
    minIsolation: 'Container',
    allowUnenforcedNetwork: true,
    maxBudget: {},
    ablations: Object.keys(ablations),
  };
  return ablatedBrief(brief, asked);
}

function verifierAt(url: string): NonNullable<PoolBrief['verifier']> {
  const thresholds = { vetoBelowProbability: 0.15, warnBelowProbability: 0.35 };
  return { name: 'verifier', url, batchMax: 16, timeoutMillis: verifierMillis, whenUnavailable: 'FailClosed', ...thresholds };
}

/** The task as an API server would return it: with defaults. @throws EvalError when the API would refuse it */
export function agentTaskOf(task: PackTask, { ablations: asked, snapshots }: Variant, bounds: AttemptBudget): AgentTask {
  const budget = { ...bounds } as AgentTaskSpec['budget'];
  const manifest = toAgentTask(task, { namespace, pool: { name: 'local', namespace }, budget, ablations: asked, snapshots });
  const object = structuredClone(manifest) as unknown as AgentTask;
  const fill = validators(new Ajv(ajvOptions)).AgentTask;
  if (!fill(object)) throw new EvalError(`${task.id} makes no AgentTask: ${JSON.stringify(fill.errors)}; correct the task`);
  return { ...object, metadata: { ...object.metadata, uid: `local-${object.metadata.name}` } };
}

const here: RunProgram = async ([program = '', ...args], stdin) => {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(stdin);
  return textOf(child.stdout);
};

/**
 * Counts syntax errors of new files, as a worker measures them; undefined where that is unknown. The surrounding
 * workspace is unknown, and uses of other files would look missing, so none of those is reported.
 */
export async function brokenNodesOf(
  files: readonly { readonly path: string; readonly content: string }[],
): Promise<readonly (number | undefined)[]> {
  const grammars = await loadGrammars(installedGrammars());
  const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: () => Promise.resolve(null) };
  try {
    const measured = await measureSources(
      files.map(({ path, content }) => [{ path, before: null, after: content }]),
      ports,
    );
    return measured.map(({ brokenNodes }) => brokenNodes);
  } finally {
    grammars.close();
  }
}
