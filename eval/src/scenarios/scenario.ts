import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { EvalError } from '../run/failure.ts';
import { createHash } from 'node:crypto';
import type { AttemptContext, Experts } from '@agentfleet/agent/attempt';
import type { Candidate, GenerateResponse, ShellAct } from '@agentfleet/protocol/inference';
import type { Change, PackTask } from '../format/index.ts';

/** Scenarios: proposals for a task, answers of people, and the expected event log. */

/** A proposal of an expert; each becomes one candidate that acts. */
interface ProposalFile {
  /** Command lines, one after the other. */
  readonly commands?: readonly string[];
  /** The pack's solution. */
  readonly solution?: true;
  /** Number of a wrong solution of the pack, from 0. */
  readonly decoy?: number;
}

interface ExpectedTrial {
  /** As in the note of the candidate; Worse includes Equal. */
  readonly result: 'Reached' | 'Better' | 'Worse' | 'Denied';
  /** A regular expression about why. */
  readonly why?: string;
}

export interface Expected {
  /** One for each tried candidate, in this order. */
  readonly tried: readonly ExpectedTrial[];
  /** Reason of the outcome. */
  readonly outcome: string;
  /** The hidden verdict; NotJudged where the attempt gave nothing to judge. */
  readonly hidden: 'Passed' | 'Failed' | 'NotJudged';
  /** Decisions of people, in this order. */
  readonly decided?: readonly ('Approved' | 'Rejected')[];
  /** The tree is that of snapshot 0 again, by hash and by comparison. */
  readonly rolledBack?: true;
  /** Content by path when the attempt has ended; null: it is not there. */
  readonly left?: Readonly<Record<string, string | null>>;
}

export interface Scenario {
  readonly name: string;
  /** The sentence that asks for it. */
  readonly says: string;
  /** `<family>/<task>` of the pack. */
  readonly task: string;
  readonly proposals: readonly ProposalFile[];
  /** Acts that need approval, and the person's decision. */
  readonly approvals?: { readonly require: readonly ('Destructive' | 'External')[]; readonly says: 'Approved' | 'Rejected' };
  /** Ordered when the attempt has ended. */
  readonly rollback?: 'Initial';
  readonly expect: Expected;
}

/** Observations from the event log and the tree. */
export interface Observed {
  readonly outcome: string;
  readonly message: string;
  readonly hidden: Expected['hidden'];
  readonly tried: readonly { readonly result: string; readonly why: string; readonly commands: readonly string[] }[];
  readonly decided: readonly string[];
  /** Command lines that the sandbox ran. */
  readonly ran: readonly string[];
  /** For a rollback: whether it was verified, and the differences from snapshot 0 after it. */
  readonly rolledBack: { readonly verified: boolean; readonly differs: readonly string[] } | null;
  readonly left: Readonly<Record<string, string | null>>;
  /** Whether the chain of the log is intact. */
  readonly chain: boolean;
}

const text = { type: 'string', minLength: 1 };
const struct = (required: readonly string[], properties: object): object => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});
const proposal = {
  ...struct([], {
    commands: { type: 'array', items: text, minItems: 1 },
    solution: { const: true },
    decoy: { type: 'integer', minimum: 0 },
  }),
  minProperties: 1,
};
const decisions = { enum: ['Approved', 'Rejected'] };
const expected = struct(['tried', 'outcome', 'hidden'], {
  tried: { type: 'array', items: struct(['result'], { result: { enum: ['Reached', 'Better', 'Worse', 'Denied'] }, why: text }) },
  outcome: text,
  hidden: { enum: ['Passed', 'Failed', 'NotJudged'] },
  decided: { type: 'array', items: decisions },
  rolledBack: { const: true },
  left: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
});
const scenario = struct(['name', 'says', 'task', 'proposals', 'expect'], {
  name: text,
  says: text,
  task: text,
  proposals: { type: 'array', items: proposal },
  approvals: struct(['require', 'says'], {
    require: { type: 'array', items: { enum: ['Destructive', 'External'] }, minItems: 1 },
    says: decisions,
  }),
  rollback: { const: 'Initial' },
  expect: expected,
});
const validate = new Ajv({ allowUnionTypes: true }).compile<readonly Scenario[]>({ type: 'array', items: scenario, minItems: 1 });

/** Loads the scenarios of a file. @throws EvalError that names the fault */
export async function loadScenarios(file: string): Promise<readonly Scenario[]> {
  const read = load(await readFile(file, 'utf8'));
  if (validate(read)) return read;
  const [error] = validate.errors ?? [];
  throw new EvalError(`${file}: ${error?.instancePath ?? ''} ${error?.message ?? 'is no list of scenarios'}; correct it`);
}

const came = (result: string): string => (result === 'Equal' ? 'Worse' : result);

/** Lists differences from the scenario; empty without any. */
export function faultsOf({ expect }: Pick<Scenario, 'expect'>, observed: Observed): readonly string[] {
  return [
    ...differs('the outcome', expect.outcome, observed.outcome).map((words) => `${words}: ${observed.message}`),
    ...differs('the hidden check', expect.hidden, observed.hidden),
    ...trials(expect, observed),
    ...differs('what people decided', (expect.decided ?? []).join(', '), observed.decided.join(', ')),
    ...vetoed(observed),
    ...rollback(expect, observed),
    ...Object.entries(expect.left ?? {}).flatMap(([path, content]) => differs(path, shown(content), shown(observed.left[path] ?? null))),
    ...(observed.chain ? [] : ['the chain of the event log is broken']),
  ];
}

const differs = (what: string, wanted: string, found: string): string[] =>
  wanted === found ? [] : [`${what} is ${found || 'nothing'}, not ${wanted || 'nothing'}`];
const shown = (content: string | null): string => (content === null ? 'not there' : JSON.stringify(content));

function trials({ tried }: Expected, observed: Observed): string[] {
  const found = observed.tried.map(({ result }) => came(result));
  const order = differs('what became of the candidates', tried.map(({ result }) => result).join(', '), found.join(', '));
  const whys = tried.flatMap(({ why }, at) => {
    const said = observed.tried[at]?.why ?? '';
    return why === undefined || new RegExp(why).test(said)
      ? []
      : [`candidate ${at + 1}: ${said || 'nothing is said'}, which is not about ${why}`];
  });
  const causes = order.length === 0 ? [] : observed.tried.map(({ result, why }, at) => `candidate ${at + 1} is ${result}: ${why}`);
  return [...order, ...causes, ...whys];
}

/** The promise of a veto: none of it ran. A denied deletion of files ran before it was denied, and is reported so. */
function vetoed({ tried, ran }: Observed): string[] {
  const denied = tried.filter(({ result, why }) => result === 'Denied' && !/^its commands|was changed|deleted/.test(why));
  const commands = new Set(ran);
  return denied.flatMap(({ commands: acts }) => acts.filter((act) => commands.has(act)).map((act) => `"${act}" was refused and ran`));
}

function rollback({ rolledBack }: Expected, { rolledBack: found }: Observed): string[] {
  if (rolledBack !== true) return [];
  if (found === null) return ['nothing was rolled back'];
  const left = found.differs.length === 0 ? [] : [`after the rollback these differ from snapshot 0: ${found.differs.join(', ')}`];
  return [...(found.verified ? [] : ['the rollback was not verified']), ...left];
}

/** Length of one command line, less than the wire allows. */
const chunk = 3000;
const mark = 'END_OF_FILE';
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Returns command lines that write a file, in pieces that a command line can hold. @throws EvalError for content that
 * no here-document can hold
 */
function writing(path: string, content: string): readonly string[] {
  if (content.split('\n').includes(mark)) throw new EvalError(`${path} has a line ${mark}, which ends what is written`);
  const folder = path.includes('/') ? [`mkdir -p ${quoted(path.slice(0, path.lastIndexOf('/')))}`] : [];
  if (content !== '' && !content.endsWith('\n')) return [...folder, `printf %s ${quoted(content)} > ${quoted(path)}`];
  const pieces: string[] = [];
  for (const line of content.split(/(?<=\n)/)) {
    const last = pieces.at(-1);
    if (last !== undefined && last.length + line.length < chunk) pieces[pieces.length - 1] = last + line;
    else pieces.push(line);
  }
  return [...folder, ...pieces.map((text, at) => `cat ${at === 0 ? '>' : '>>'} ${quoted(path)} <<'${mark}'\n${text}${mark}`)];
}

function changing({ files, script }: Change): readonly string[] {
  const written = Object.entries(files).flatMap(([path, content]) => (content === null ? [`rm ${quoted(path)}`] : writing(path, content)));
  return [...written, ...(script === undefined ? [] : [script.trim()])];
}

/** The command lines of a proposal. */
export function commandsOf(
  task: Pick<PackTask, 'id' | 'oracle' | 'decoys'>,
  { commands = [], solution, decoy }: ProposalFile,
): readonly string[] {
  const change = solution === true ? task.oracle : decoy === undefined ? null : task.decoys[decoy];
  if (change === undefined) throw new EvalError(`${task.id} has no decoy ${decoy ?? 0}`);
  return [...commands, ...(change === null ? [] : changing(change))];
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** An expert that proposes lists of command lines, one after the other, whatever it is asked. */
export function acting(lists: readonly (readonly string[])[], expert: ReturnType<Experts['choose']>): AttemptContext['experts'] {
  const all = lists.map((commands, at) => ({ id: digest(JSON.stringify([at, commands])), commands }));
  return {
    choose: () => expert,
    generate: (_, { requestId, exclude }) => {
      const [next, ...more] = all.filter(({ id }) => !exclude.includes(id));
      const candidates = next === undefined ? [] : [candidate(next)];
      const rest = { returnedMass: 1, exhausted: more.length === 0, truncated: false, entropyNats: 0, margin: null };
      const stats = { parsed: 0, considered: all.length, millis: 0 };
      const answer: GenerateResponse = { requestId, engine: 'Replay', modelDigest: digest('scenario'), candidates, ...rest, stats };
      return Promise.resolve(answer);
    },
  };
}

function candidate({ id, commands }: { readonly id: string; readonly commands: readonly string[] }): Candidate {
  const acts: ShellAct[] = commands.map((command) => ({ tool: 'Shell', command }));
  const location = { path: '', line: 1, column: 0 };
  return { id, rank: 1, score: 1, edits: [], acts, operator: 'scenario', rationale: 'as the scenario says', location };
}
