/** Plays a scenario: the engine of a worker in a sandbox of this machine, an expert that proposes what is written, people who answer. */
import type { AttemptContext, Report } from '@agentfleet/agent/attempt';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { systemClock } from '@agentfleet/kube';
import type { AgentTask, Approval } from '@agentfleet/protocol/api';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import type { PackTask } from '../format/index.ts';
import { acting, commandsOf, type Observed, type Scenario } from '../scenarios/index.ts';
import { contextOf, judgeHidden, type Ground } from './attempt.ts';

type People = Pick<AttemptContext, 'approvals' | 'taskChanged'>;
type Held = NonNullable<Report['pendingApproval']>;

/** One person, who says the same to everything that is asked. */
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

/** The task with what a person has to allow, and a way back that may be ordered. */
function taskOf(task: AgentTask, { approvals }: Scenario): AgentTask {
  if (approvals === undefined) return task;
  const policy = { ...task.spec.policy, approvals: { require: [...approvals.require], timeoutSeconds: 600 } };
  return { ...task, spec: { ...task.spec, policy: policy as AgentTask['spec']['policy'] } };
}

/** Plays a scenario and tells what its event log and tree say. */
export async function play(scenario: Scenario, task: PackTask, agentTask: AgentTask, ground: Ground): Promise<Observed> {
  const { engine, brief, keeper, signal } = ground;
  const [expert] = brief.experts;
  if (expert === undefined) throw new TypeError('a local pool has an expert');
  const lists = scenario.proposals.map((proposal) => commandsOf(task, proposal));
  const reported: { last: Report } = { last: {} };
  const somebody = person(scenario.approvals?.says ?? 'Rejected', () => systemClock.now());
  const report = (change: Report): void => {
    reported.last = { ...reported.last, ...change };
    if (change.pendingApproval !== undefined) somebody.asked(change.pendingApproval);
  };
  const context: AttemptContext = {
    ...contextOf(taskOf(agentTask, scenario), ground, report, somebody),
    experts: acting(lists, expert),
  };
  const outcome = await engine.run(context);
  const left = await contents(keeper, Object.keys(scenario.expect.left ?? {}));
  const solved = outcome.result === 'Succeeded';
  const hidden = !solved ? 'NotJudged' : (await judgeHidden(task, keeper, signal)) ? 'Passed' : 'Failed';
  const rolledBack = scenario.rollback === undefined ? null : await back(ground, context, reported);
  return { ...(await logged(keeper, lists)), outcome: outcome.reason, message: outcome.message ?? '', hidden, left, rolledBack };
}

async function back({ engine, keeper }: Ground, context: AttemptContext, { last }: { last: Report }): Promise<Observed['rolledBack']> {
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
