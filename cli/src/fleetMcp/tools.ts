import { FleetError, type AgentTask, type AgentTaskSpec, type FleetClient } from '@agentfleet/client';
import { CliError } from '../base/failure.ts';

type Args = Readonly<Record<string, unknown>>;

/** One tool that a client of the server may call. */
export interface FleetTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint?: boolean };
  /** Returns text or data for the caller. @throws CliError for arguments, FleetError */
  readonly call: (fleet: FleetClient, args: Args, signal: AbortSignal) => Promise<unknown>;
}

const text = (description: string): object => ({ type: 'string', minLength: 1, description });
const task = text('Name of the AgentTask.');
const reason = text('Why, for the record.');
const action = text('pendingApproval.action of status: refused where something else waits by now. Default: whatever waits.');
const reads = { readOnlyHint: true } as const;
const writes = { readOnlyHint: false, destructiveHint: false } as const;

/** A text argument; undefined where it is left out. */
function optional(args: Args, name: string): string | undefined {
  const value = args[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new CliError(`argument ${name} must be a text that is not blank; correct or leave it out`);
}

function needed(args: Args, name: string): string {
  const value = optional(args, name);
  if (value === undefined) throw new CliError(`argument ${name} is missing; give it`);
  return value;
}

/** An argument that is an object of texts. */
function texts(args: Args, name: string): Readonly<Record<string, string>> | undefined {
  const value = args[name];
  if (value === undefined) return undefined;
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length > 0 && entries.every(([, one]) => typeof one === 'string')) return value as Readonly<Record<string, string>>;
  throw new CliError(`argument ${name} must be an object of texts with at least one member; correct or leave it out`);
}

function workspaceOf(args: Args): AgentTaskSpec['workspace'] {
  const [files, git] = [texts(args, 'files'), texts(args, 'git')];
  if ((files === undefined) === (git === undefined)) throw new CliError('give either files or git: what the task starts from');
  if (files !== undefined)
    return { type: 'Inline', inline: { files: Object.entries(files).map(([path, content]) => ({ path, content })) } };
  const { url = '', ref = 'main', credential } = git ?? {};
  return { type: 'Git', git: { url, ref, ...(credential !== undefined && { credential }) } };
}

function specOf(args: Args): AgentTaskSpec {
  const checks: unknown = args['checks'];
  if (!Array.isArray(checks) || checks.length === 0 || !checks.every((one) => typeof one === 'string' && one.trim() !== ''))
    throw new CliError(
      'argument checks must be a list of commands; give at least one, and review: true where none fails until the goal is reached',
    );
  const pool = optional(args, 'pool')?.split('/');
  const poolRef =
    pool === undefined ? undefined : pool.length === 1 ? { name: pool[0] ?? '' } : { namespace: pool[0] ?? '', name: pool[1] ?? '' };
  return {
    goal: needed(args, 'goal'),
    workspace: workspaceOf(args),
    checks: [
      ...checks.map((line: string, at) => ({ name: `check-${at + 1}`, command: ['sh', '-c', line] })),
      ...(args['review'] === true ? [{ name: 'review', type: 'Review' as const }] : []),
    ],
    ...(poolRef !== undefined && { poolRef }),
    ...(args['pullRequest'] === true && { output: { git: { pullRequest: {} } } }),
  };
}

async function submit(fleet: FleetClient, args: Args, signal: AbortSignal): Promise<unknown> {
  const name = optional(args, 'name');
  const { metadata } = await fleet.create(
    { metadata: name === undefined ? { generateName: 'task-' } : { name }, spec: specOf(args) },
    signal,
  );
  return { task: metadata.name, namespace: fleet.namespace };
}

const brief = ({ metadata, status }: AgentTask): object => ({
  task: metadata.name,
  phase: status?.phase ?? 'Pending',
  finished: status?.finished === 'true',
  waits: status?.run?.pendingApproval?.summary,
  progress: status?.run?.progress?.message,
});

function whole(found: AgentTask): object {
  const { status } = found;
  const { run } = status ?? {};
  const conditions = status?.conditions?.map(({ type, status: value, reason: why, message }) => `${type} ${value} (${why}): ${message}`);
  const { plan, pendingApproval, answer, output, usage, outcome, rollback } = run ?? {};
  return { ...brief(found), goal: found.spec.goal, conditions, plan, pendingApproval, answer, output, usage, outcome, rollback };
}

/** Characters of an act that `status` returns at most: who is asked about a longer one reads the artifact. */
const longestAct = 65_536;

/** The act that waits, whole, where it can be read: its words in the status are cut. The client holds it against its hash. */
async function waitingAct(fleet: FleetClient, { metadata, status }: AgentTask, signal: AbortSignal): Promise<{ readonly act?: string }> {
  const { pendingApproval, artifacts = [] } = status?.run ?? {};
  const found = artifacts.find(({ sha256 }) => pendingApproval?.action === `sha256:${sha256}`);
  if (found === undefined || found.bytes > longestAct) return {};
  const content = await fleet.artifact(metadata.name, found.name, signal).catch(() => undefined);
  return content === undefined ? {} : { act: Buffer.from(content).toString('utf8') };
}

/** The whole patch where the results API serves it, else what the status has. */
async function diff(fleet: FleetClient, args: Args, signal: AbortSignal): Promise<string> {
  const name = needed(args, 'task');
  try {
    return Buffer.from(await fleet.artifact(name, 'change.patch', signal)).toString('utf8');
  } catch (error) {
    const shown = (await fleet.get(name, signal)).status?.run?.patch;
    const missing =
      error instanceof FleetError && ['AF_CLIENT_RESULTS_MISSING', 'AF_CLIENT_NOT_FOUND', 'AF_CLIENT_FORBIDDEN'].includes(error.code);
    if (!missing || shown === undefined) throw error;
    return shown;
  }
}

async function decide(fleet: FleetClient, verb: 'approve' | 'reject', args: Args, signal: AbortSignal): Promise<unknown> {
  const [why, seen] = [optional(args, 'reason'), optional(args, 'action')];
  const options = { signal, ...(why !== undefined && { reason: why }), ...(seen !== undefined && { action: seen }) };
  const { spec, status } = await fleet[verb](needed(args, 'task'), options);
  return { order: spec.type, by: spec.requester, state: status?.state };
}

/** The tools, by what people do with tasks. */
export const fleetTools: readonly FleetTool[] = [
  {
    name: 'submit',
    description: 'Give the fleet a task: what must become true, and commands that prove it. Returns its name at once; look with status.',
    inputSchema: {
      type: 'object',
      properties: {
        goal: text('The state to reach, in words.'),
        checks: {
          type: 'array',
          minItems: 1,
          items: { type: 'string' },
          description: 'Shell commands that hold when the goal is reached.',
        },
        files: { type: 'object', additionalProperties: { type: 'string' }, description: 'Path → content: what it starts from. Or git.' },
        git: {
          type: 'object',
          properties: { url: text('https address.'), ref: text('Branch, tag or commit; default: main.'), credential: text('Of the pool.') },
          required: ['url'],
          description: 'A repository that it starts from. Or files.',
        },
        pool: text('NAME or NAMESPACE/NAME; default: that of the namespace.'),
        name: text('Name of the task; default: one is made.'),
        review: { type: 'boolean', description: 'Whether a person accepts or rejects the result; for goals whose checks hold already.' },
        pullRequest: { type: 'boolean', description: 'Whether the result becomes a pull request; with git.' },
      },
      required: ['goal', 'checks'],
    },
    annotations: writes,
    call: submit,
  },
  {
    name: 'list',
    description: 'The tasks of the namespace: phase, progress, and what waits for a person.',
    inputSchema: { type: 'object', properties: {} },
    annotations: reads,
    call: async (fleet, _, signal) => (await fleet.list({ signal })).map(brief),
  },
  {
    name: 'status',
    description: 'All about one task: conditions with reasons, plan, what waits (act: whole), usage, how it ended, where its result went.',
    inputSchema: { type: 'object', properties: { task }, required: ['task'] },
    annotations: reads,
    call: async (fleet, args, signal) => {
      const found = await fleet.get(needed(args, 'task'), signal);
      return { ...whole(found), ...(await waitingAct(fleet, found, signal)) };
    },
  },
  {
    name: 'diff',
    description: 'The change of a task as a unified diff.',
    inputSchema: { type: 'object', properties: { task }, required: ['task'] },
    annotations: reads,
    call: diff,
  },
  {
    name: 'approve',
    description:
      'Let the act or the result that a task waits with pass. It is recorded as a decision of the user whose credentials are used: ask first.',
    inputSchema: { type: 'object', properties: { task, action, reason }, required: ['task'] },
    annotations: { readOnlyHint: false, destructiveHint: true },
    call: (fleet, args, signal) => decide(fleet, 'approve', args, signal),
  },
  {
    name: 'reject',
    description: 'Refuse the act or the result that a task waits with.',
    inputSchema: { type: 'object', properties: { task, action, reason }, required: ['task'] },
    annotations: writes,
    call: (fleet, args, signal) => decide(fleet, 'reject', args, signal),
  },
  {
    name: 'answer',
    description: 'Answer the question that a task waits with.',
    inputSchema: { type: 'object', properties: { task, text: text('The answer.') }, required: ['task', 'text'] },
    annotations: writes,
    call: async (fleet, args, signal) => {
      const { status } = await fleet.answer(needed(args, 'task'), needed(args, 'text'), { signal });
      return { state: status?.state };
    },
  },
  {
    name: 'cancel',
    description: 'End a task and put its tree back as it was.',
    inputSchema: { type: 'object', properties: { task }, required: ['task'] },
    annotations: { readOnlyHint: false, destructiveHint: true },
    call: async (fleet, args, signal) => brief(await fleet.cancel(needed(args, 'task'), 'Rollback', signal)),
  },
];
