/** A chat model in a local pool: a gateway process of the checkout before an endpoint, or before recorded conversations. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChatModelsClient } from '@agentfleet/agent/models';
import { asError, silentLog, systemClock } from '@agentfleet/kube';
import { conversationOf, type RecordedExchange } from '@agentfleet/protocol/chat';
import { gatewayModelsVariable, gatewayWord, type GatewayModel, type GatewayModels } from '@agentfleet/protocol/gateway';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { tracingEnvironment, type TracingConfig } from '@agentfleet/protocol/tracing';
import { EvalError } from '../run/failure.ts';
import type { ModelOptions } from '../run/run.ts';
import { answersAgain, type AnswerServer } from './again.ts';
import { startServer, type RunningServer } from './servers.ts';
import type { AttemptContext, Report } from '@agentfleet/agent/attempt';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTask, Approval } from '@agentfleet/protocol/api';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import type { PackTask } from '../format/index.ts';
import { acting, commandsOf, type Observed, type Scenario } from '../scenarios/scenario.ts';
import { contextOf, judgeHidden, type TestEnvironment } from './attempt.ts';

const name = 'model';

interface Parts {
  readonly server: RunningServer;
  /** Folder that the gateway records to. */
  readonly recorded: string;
  readonly answers: AnswerServer | undefined;
}

/** The chat model of a local pool, in place of the search for edits. */
export class LocalModel implements AsyncDisposable {
  readonly models: ChatModelsClient;
  readonly expert: ExpertEndpoint;
  readonly #parts: Parts;

  private constructor(parts: Parts, { contextTokens, maxOutputTokens, toolCalls, timeoutSeconds }: ModelOptions) {
    this.#parts = parts;
    this.models = new ChatModelsClient({
      tokens: { token: () => Promise.resolve('none'), forget: () => undefined },
      audience: 'gateway',
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    const chat = { contextTokens, maxOutputTokens, toolCalls, timeoutSeconds };
    this.expert = { name, role: 'Generalist', engine: 'OpenAI', chat, domains: ['*'], url: parts.server.address };
  }

  /** @param folder for settings and records of the gateway @throws EvalError where the key is missing or the gateway does not start */
  static async open(checkout: string, folder: string, options: ModelOptions, tracing?: TracingConfig): Promise<LocalModel> {
    const recorded = join(folder, 'recorded');
    await mkdir(recorded, { recursive: true });
    const { recordings, again = false } = options;
    if (options.endpoint !== undefined) await refuseSilence(options.endpoint, options);
    const answers = again && recordings !== undefined ? await answersAgain(recordings) : undefined;
    const model = await modelOf(folder, options, answers?.baseURL ?? options.endpoint);
    const models: GatewayModels = { format: 'agentfleet.dev/gateway/v1', models: [model] };
    const file = join(folder, 'models.json');
    await writeFile(file, JSON.stringify(models));
    const server = await startServer(checkout, [gatewayWord], {
      [gatewayModelsVariable]: file,
      ...(model.engine !== 'Replay' && { AGENTFLEET_RECORD_TO: recorded }),
      ...(tracing && { [tracingEnvironment.endpoint]: tracing.endpoint, [tracingEnvironment.sampleRatio]: String(tracing.sampleRatio) }),
    });
    return new LocalModel({ server, recorded, answers }, options);
  }

  /** Writes all conversations so far to a folder, one a file, in the form that `--recordings` plays. */
  async keep(folder: string): Promise<number> {
    const files = await readdir(this.#parts.recorded);
    await mkdir(folder, { recursive: true });
    for (const file of files) {
      const lines = (await readFile(join(this.#parts.recorded, file), 'utf8')).trim().split('\n');
      const conversation = conversationOf(
        lines.map((line) => JSON.parse(line) as RecordedExchange),
        'fleet eval run',
      );
      await writeFile(join(folder, file.replace(/\.jsonl$/, '.json')), `${JSON.stringify(conversation, undefined, 2)}\n`);
    }
    return files.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.models.close();
    await this.#parts.server[Symbol.asyncDispose]();
    await this.#parts.answers?.[Symbol.asyncDispose]();
  }
}

/** @throws EvalError where the variable that is named holds no key */
function keyOf({ keyEnv }: ModelOptions): string | undefined {
  if (keyEnv === undefined) return undefined;
  const key = process.env[keyEnv] ?? '';
  if (key !== '') return key;
  throw new EvalError(`the variable ${keyEnv} holds no key; set it, or leave --key-env out for an endpoint without one`);
}

/** @throws EvalError where nothing answers at the endpoint, or its key is refused: each attempt would wait ten minutes for it */
async function refuseSilence(endpoint: string, options: ModelOptions): Promise<void> {
  const key = keyOf(options);
  const headers = key === undefined ? {} : { 'x-api-key': key, authorization: `Bearer ${key}` };
  const request = { headers, redirect: 'manual', signal: AbortSignal.timeout(10_000) } as const;
  const answer = await fetch(`${endpoint}/models`, request).catch((error: unknown) => {
    // A server may be busy with a model.
    if (asError(error).name === 'TimeoutError') return undefined;
    const reason = asError(asError(error).cause ?? error).message;
    throw new EvalError(`nothing answers at ${endpoint}: ${reason}; start its server, or mend --endpoint`);
  });
  await answer?.body?.cancel();
  if (answer?.status !== 401) return;
  const cure =
    key === undefined ? 'a key (401); name the variable that holds one by --key-env' : `another key (401); mend ${options.keyEnv}`;
  throw new EvalError(`${endpoint} wants ${cure}`);
}

async function modelOf(folder: string, options: ModelOptions, endpoint: string | undefined): Promise<GatewayModel> {
  const { recordings, model, maxOutputTokens, timeoutSeconds, api = 'OpenAI' } = options;
  const common = { name, maxOutputTokens, concurrency: 64, timeoutSeconds };
  if (endpoint === undefined) {
    if (recordings === undefined) throw new EvalError('a model is an endpoint or recordings');
    return { ...common, engine: 'Replay', recording: recordings };
  }
  const key = keyOf(options);
  const credentialFile = join(folder, 'key');
  if (key !== undefined) await writeFile(credentialFile, key, { mode: 0o600 });
  return { ...common, engine: api, baseURLs: [endpoint], model, ...(key !== undefined && { credentialFile }) };
}

type People = Pick<AttemptContext, 'approvals' | 'taskChanged'>;
type Held = NonNullable<Report['pendingApproval']>;

/** One person, with the same answer to every question. */
function person(says: Approval['decision'], now: () => number): People & { asked(held: Held): void } {
  const decided: Approval[] = [];
  return {
    approvals: () => decided,
    taskChanged: () => Promise.resolve(),
    asked({ action }) {
      const at = new Date(now()).toISOString();
      decided.push({ action, decision: says, orderRef: { name: 'scenario' }, requester: 'the scenario', at });
    },
  };
}

/** Returns the task with the acts that need approval, and the rollback that may be ordered. */
function taskOf(task: AgentTask, { approvals }: Scenario): AgentTask {
  if (approvals === undefined) return task;
  const policy = { ...task.spec.policy, approvals: { require: [...approvals.require], timeoutSeconds: 600 } };
  return { ...task, spec: { ...task.spec, policy: policy } };
}

/** Plays a scenario and returns the observations from its event log and tree. */
export async function play(scenario: Scenario, task: PackTask, agentTask: AgentTask, environment: TestEnvironment): Promise<Observed> {
  const { engine, brief, keeper, signal } = environment;
  const [first, ...others] = brief.experts;
  if (first === undefined) throw new TypeError('a local pool has an expert');
  // Its proposals are written by hand: that a search for edits could not write them is no failure.
  const expert = { ...first, engine: 'Replay' } as const;
  const lists = scenario.proposals.map((proposal) => commandsOf(task, proposal));
  const reports: { last: Report } = { last: {} };
  const somebody = person(scenario.approvals?.says ?? 'Rejected', () => systemClock.now());
  const report = (change: Report): void => {
    reports.last = { ...reports.last, ...change };
    if (change.pendingApproval !== undefined) somebody.asked(change.pendingApproval);
  };
  const context: AttemptContext = {
    ...contextOf(taskOf(agentTask, scenario), { ...environment, brief: { ...brief, experts: [expert, ...others] } }, report, somebody),
    experts: acting(lists, expert),
  };
  const outcome = await engine.run(context);
  const left = await contents(keeper, Object.keys(scenario.expect.left ?? {}));
  const solved = outcome.result === 'Succeeded';
  const hidden = !solved ? 'NotJudged' : (await judgeHidden(task, keeper, signal)) ? 'Passed' : 'Failed';
  const rolledBack = scenario.rollback === undefined ? null : await back(environment, context, reports);
  return { ...(await logged(keeper, lists)), outcome: outcome.reason, message: outcome.message ?? '', hidden, left, rolledBack };
}

async function back(
  { engine, keeper }: TestEnvironment,
  context: AttemptContext,
  { last }: { last: Report },
): Promise<Observed['rolledBack']> {
  const run = { ...last, attempt: 1, epoch: 1 } as NonNullable<NonNullable<AgentTask['status']>['run']>;
  const task = { ...context.task, status: { ...context.task.status, run } };
  const { verified, snapshot } = await engine.rollback({ ...context, task }, 'Initial');
  const { entries } = await keeper.diff(snapshot);
  return { verified, differs: entries.map(({ path }) => path) };
}

async function contents(keeper: KeeperClient, paths: readonly string[]): Promise<Observed['left']> {
  const found: Record<string, string | null> = {};
  for (const path of paths) {
    const bytes = await keeper.readFile(`${workspaceDir}/${path}`).catch(() => null);
    found[path] = bytes === null ? null : bytes.toString('utf8');
  }
  return found;
}

type Logged = Pick<Observed, 'tried' | 'decided' | 'ran' | 'chain'>;

async function logged(keeper: KeeperClient, lists: readonly (readonly string[])[]): Promise<Logged> {
  const tried: Observed['tried'][number][] = [];
  const [decided, ran]: [string[], string[]] = [[], []];
  for await (const { type, body } of keeper.events()) {
    if (type === 'ExecRequested' && typeof body['command'] === 'string') ran.push(body['command']);
    if (type !== 'Noted') continue;
    const { kind, data } = body as { readonly kind: string; readonly data: { readonly result: string; readonly why?: string } };
    if (kind === 'Tried') tried.push({ result: data.result, why: data.why ?? '', commands: lists[tried.length] ?? [] });
    if (kind === 'Approved' || kind === 'Rejected') decided.push(kind);
  }
  return { tried, decided, ran, chain: (await keeper.audit()).ok };
}
