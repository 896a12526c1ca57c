import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { Type, type Static } from 'typebox';
import { EvalError } from '../run/failure.ts';
import { digestOf } from '../run/run.ts';
import type { AttemptContext, Experts } from '@agentfleet/agent/attempt';
import type { Candidate, GenerateResponse, ShellAct } from '@agentfleet/protocol/inference';
import { quoted, type Change, type PackTask, type Read } from '../format/index.ts';

const exactly = { additionalProperties: false } as const;
const text = Type.String({ minLength: 1 });
const decision = Type.Enum(['Approved', 'Rejected']);

/** A proposal of an expert; each becomes one candidate that acts. */
const Proposal = Type.Object(
  {
    /** Command lines, one after the other. */
    commands: Type.Optional(Type.Array(text, { minItems: 1 })),
    /** The pack's solution. */
    solution: Type.Optional(Type.Literal(true)),
    /** Number of a wrong solution of the pack, from 0. */
    decoy: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { ...exactly, minProperties: 1 },
);
type ProposalFile = Read<Static<typeof Proposal>>;

const Trial = Type.Object(
  {
    /** As in the note of the candidate; Worse includes Equal. */
    result: Type.Enum(['Reached', 'Better', 'Worse', 'Denied']),
    /** A regular expression about why. */
    why: Type.Optional(text),
  },
  exactly,
);

const Expected = Type.Object(
  {
    /** One for each tried candidate, in this order. */
    tried: Type.Array(Trial),
    /** Reason of the outcome. */
    outcome: text,
    /** The hidden verdict; NotJudged where the attempt gave nothing to judge. */
    hidden: Type.Enum(['Passed', 'Failed', 'NotJudged']),
    /** Decisions of people, in this order. */
    decided: Type.Optional(Type.Array(decision)),
    /** The tree is that of snapshot 0 again, by hash and by comparison. */
    rolledBack: Type.Optional(Type.Literal(true)),
    /** Content by path when the attempt has ended; null: it is not there. */
    left: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string | null>>>({ type: 'object', additionalProperties: { type: ['string', 'null'] } }),
    ),
  },
  exactly,
);
export type Expected = Read<Static<typeof Expected>>;

const Scenario = Type.Object(
  {
    name: text,
    /** The sentence that asks for it. */
    says: text,
    /** `<family>/<task>` of the pack. */
    task: text,
    proposals: Type.Array(Proposal),
    /** Acts that need approval, and the person's decision. */
    approvals: Type.Optional(
      Type.Object({ require: Type.Array(Type.Enum(['Destructive', 'External']), { minItems: 1 }), says: decision }, exactly),
    ),
    /** Ordered when the attempt has ended. */
    rollback: Type.Optional(Type.Literal('Initial')),
    expect: Expected,
  },
  exactly,
);
export type Scenario = Read<Static<typeof Scenario>>;

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

const validate = new Ajv({ allowUnionTypes: true }).compile<readonly Scenario[]>(Type.Array(Scenario, { minItems: 1 }));

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

/** An expert that proposes lists of command lines, one after the other, whatever it is asked. */
export function acting(lists: readonly (readonly string[])[], expert: ReturnType<Experts['choose']>): AttemptContext['experts'] {
  const all = lists.map((commands, at) => ({ id: digestOf([at, commands]), commands }));
  return {
    choose: () => expert,
    generate: (_, { requestId, exclude }) => {
      const [next, ...more] = all.filter(({ id }) => !exclude.includes(id));
      const candidates = next === undefined ? [] : [candidate(next)];
      const rest = { returnedMass: 1, exhausted: more.length === 0, truncated: false, entropyNats: 0, margin: null };
      const stats = { parsed: 0, considered: all.length, millis: 0 };
      const answer: GenerateResponse = { requestId, engine: 'Replay', modelDigest: digestOf('scenario'), candidates, ...rest, stats };
      return Promise.resolve(answer);
    },
  };
}

function candidate({ id, commands }: { readonly id: string; readonly commands: readonly string[] }): Candidate {
  const acts: ShellAct[] = commands.map((command) => ({ tool: 'Shell', command }));
  const location = { path: '', line: 1, column: 0 };
  return { id, rank: 1, score: 1, edits: [], acts, operator: 'scenario', rationale: 'as the scenario says', location };
}
